/* What all pictures share. */
#include "bench/output/svg.h"

#include <string.h>

static const char *const styles =
    "  <style>\n"
    "    text { font: 13px sans-serif; fill: #2b2b2b; }\n"
    "    .title { font-size: 15px; font-weight: bold; }\n"
    "    .small { font-size: 12px; fill: #5a5a5a; }\n"
    "    .y { text-anchor: end; } .x { text-anchor: middle; }\n"
    "    .card { fill: #fbfaf6; stroke: #c9c6bc; }\n"
    "    .grid { stroke: #dedbd0; } .frame { fill: none; stroke: #a8a498; }\n"
    "    .line { fill: none; stroke-width: 2; stroke-linejoin: round; }\n"
    "    .both { stroke-dasharray: 6 4; }\n"
    "    .m0 { stroke: #33689e; } .m1 { stroke: #a9501c; } .m2 { stroke: #707070; }\n"
    "    .heat, .d0 { fill: #33689e; } .d1 { fill: #a9501c; } .d2 { fill: #707070; }\n"
    "    @media (prefers-color-scheme: dark) {\n"
    "      text { fill: #e6e4de; } .small { fill: #b0ada5; }\n"
    "      .card { fill: #1d1e20; stroke: #45474b; }\n"
    "      .grid { stroke: #36383c; } .frame { stroke: #6a6c70; }\n"
    "      .m0 { stroke: #7fb2e5; } .m1 { stroke: #e39763; } .m2 { stroke: #a5a5a5; }\n"
    "      .heat { fill: #5a8fc4; } .d0 { fill: #7fb2e5; } .d1 { fill: #e39763; } .d2 { fill: #a5a5a5; }\n"
    "    }\n"
    "  </style>\n";

void svg_begin(struct text *text, int width, int height, const char *label)
{
    text_add(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                   "width=\"%d\" height=\"%d\"\n     role=\"img\" "
                   "aria-label=\"%s\">\n%s",
             width, height, width, height, label, styles);
    text_add(text, "  <rect class=\"card\" x=\"1\" y=\"1\" width=\"%d\" height=\"%d\" "
                   "rx=\"10\"/>\n", width - 2, height - 2);
}

void svg_end(struct text *text)
{
    text_add(text, "</svg>\n");
}

void svg_escape(struct text *text, const char *from, int length)
{
    for (int i = 0; i < length; i++)
        if (from[i] == '&' || from[i] == '<')
            text_add(text, "%s", from[i] == '&' ? "&amp;" : "&lt;");
        else
            text_add(text, "%c", from[i]);
}

static void add_line(struct text *text, const char *style, int y, const char *line)
{
    if (!line)
        return;
    text_add(text, "  <text class=\"%s\" x=\"22\" y=\"%d\">", style, y);
    svg_escape(text, line, (int)strcspn(line, "\n"));
    text_add(text, "</text>\n");
}

void svg_title(struct text *text, const char *title, const char *second, const char *third)
{
    add_line(text, "title", 30, title);
    add_line(text, "small", 48, second);
    add_line(text, "small", 65, third);
}
