/* Minimum-cost flow on graphs small enough to solve on paper. */
#include "core/base/min_cost_flow.h"
#include "tests/tap.h"

static flow_cost cost(long a, long b)
{
    const long part[FLOW_PARTS] = {a, b, 0, 0, 0};

    return flow_cost_of(part);
}

static void parts_are_lexicographic(void)
{
    static const long one[FLOW_PARTS] = {1, 0, 0, 0, 0};
    static const long much[FLOW_PARTS] = {0, 4000000, 4000000, 4000000, 4000000};
    static const long less[FLOW_PARTS] = {1, -1, 0, 0, 0};

    tap_ok(flow_cost_of(one) > flow_cost_of(much), "an earlier part outweighs all later ones");
    tap_ok(flow_cost_of(less) < flow_cost_of(one), "negative parts count");
}

/* Two ranks, two GPUs; rank 0 likes GPU 1 a little, rank 1 can do with GPU 1 only
 * at a price: the sum decides, not who comes first. */
static void assigns(void)
{
    struct flow flow;
    int arc[2][2];

    flow_make(&flow, 6, 8, NULL);
    for (int r = 0; r < 2; r++)
        flow_add(&flow, 0, 2 + r, 1, 0);
    arc[0][0] = flow_add(&flow, 2, 4, 1, cost(0, 0));
    arc[0][1] = flow_add(&flow, 2, 5, 1, cost(0, 1));
    arc[1][0] = flow_add(&flow, 3, 4, 1, cost(0, 1));
    arc[1][1] = flow_add(&flow, 3, 5, 1, cost(1, 0));
    for (int g = 0; g < 2; g++)
        flow_add(&flow, 4 + g, 1, 1, 0);
    tap_is_int(flow_solve(&flow, 0, 1), 2, "both ranks are served");
    tap_ok(flow.arcs[arc[0][1]].flow == 1 && flow.arcs[arc[1][0]].flow == 1,
           "the cheapest sum wins, against the first rank's first choice");
    flow_settle(&flow);
    tap_ok(!flow_prefer(&flow, arc[0][0]), "a preference that costs is refused");
    tap_ok(flow_prefer(&flow, arc[0][1]) && flow_prefer(&flow, arc[1][0]),
           "what flows already can be preferred");
    flow_clear(&flow);
}

/* Three equal ranks on three equal GPUs, preferences from the last GPU down: each
 * is granted once, and what is locked does not move again. */
static void prefers(void)
{
    struct flow flow;
    int arc[3][3];

    flow_make(&flow, 8, 15, NULL);
    for (int r = 0; r < 3; r++) {
        flow_add(&flow, 0, 2 + r, 1, 0);
        for (int g = 0; g < 3; g++)
            arc[r][g] = flow_add(&flow, 2 + r, 5 + g, 1, cost(0, 7));
    }
    for (int g = 0; g < 3; g++)
        flow_add(&flow, 5 + g, 1, 1, 0);
    tap_is_int(flow_solve(&flow, 0, 1), 3, "three ranks are served");
    flow_settle(&flow);
    tap_ok(flow_prefer(&flow, arc[0][2]), "rank 0 prefers GPU 2");
    tap_ok(!flow_prefer(&flow, arc[1][2]), "rank 1 cannot have it any more");
    tap_ok(flow_prefer(&flow, arc[1][1]), "rank 1 prefers GPU 1");
    tap_ok(!flow_prefer(&flow, arc[2][1]) && !flow_prefer(&flow, arc[2][2]) &&
               flow_prefer(&flow, arc[2][0]),
           "rank 2 is left with GPU 0");
    tap_ok(flow.arcs[arc[0][2]].flow == 1 && flow.arcs[arc[1][1]].flow == 1 &&
               flow.arcs[arc[2][0]].flow == 1,
           "all preferences hold at the end");
    flow_clear(&flow);
}

/* Five units, arcs of 3 and 1 to the sink: four go through. */
static void is_limited(void)
{
    struct flow flow;
    int cheap, dear;

    flow_make(&flow, 3, 3, NULL);
    flow_add(&flow, 0, 2, 5, 0);
    cheap = flow_add(&flow, 2, 1, 3, cost(0, 1));
    dear = flow_add(&flow, 2, 1, 1, cost(0, 2));
    tap_is_int(flow_solve(&flow, 0, 1), 4, "no more than fits goes through");
    tap_ok(flow.arcs[cheap].flow == 3 && flow.arcs[dear].flow == 1, "parallel arcs fill up");
    flow_clear(&flow);
}

/* A later path has to take back what an earlier one chose. */
static void reroutes(void)
{
    struct flow flow;
    int middle;

    flow_make(&flow, 4, 5, NULL);
    flow_add(&flow, 0, 2, 1, cost(0, 1));
    flow_add(&flow, 0, 3, 1, cost(0, 4));
    middle = flow_add(&flow, 2, 3, 1, 0);
    flow_add(&flow, 2, 1, 1, cost(0, 4));
    flow_add(&flow, 3, 1, 1, cost(0, 1));
    tap_is_int(flow_solve(&flow, 0, 1), 2, "two units get through");
    tap_is_int(flow.arcs[middle].flow, 0, "the short cut is given up");
    flow_clear(&flow);
}

/* A floor: the arc of negative cost is filled before the free one. */
static void honours_floors(void)
{
    struct flow flow;
    int floor_arc, extra;

    flow_make(&flow, 3, 3, NULL);
    flow_add(&flow, 0, 2, 2, 0);
    extra = flow_add(&flow, 2, 1, 2, 0);
    floor_arc = flow_add(&flow, 2, 1, 1, cost(-1, 0));
    tap_is_int(flow_solve(&flow, 0, 1), 2, "both units get through");
    tap_ok(flow.arcs[floor_arc].flow == 1 && flow.arcs[extra].flow == 1,
           "the arc of negative cost is full");
    flow_clear(&flow);
}

int main(void)
{
    struct flow flow;

    parts_are_lexicographic();
    assigns();
    prefers();
    is_limited();
    reroutes();
    honours_floors();
    flow_make(&flow, 2, 0, NULL);
    tap_is_int(flow_solve(&flow, 0, 1), 0, "nothing flows where no arc is");
    flow_clear(&flow);
    return tap_done();
}
