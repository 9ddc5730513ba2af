/* TAP for tests in C: results on stdout, remarks behind '#'. */
#ifndef GPUBIND_TESTS_TAP_H
#define GPUBIND_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_run, tap_failed;

__attribute__((format(printf, 1, 2), unused)) static void tap_diag(const char *format, ...)
{
    va_list args;

    printf("# ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool good, const char *format, ...)
{
    va_list args;

    tap_run++;
    tap_failed += !good;
    printf("%sok %d - ", good ? "" : "not ", tap_run);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return good;
}

__attribute__((unused)) static bool tap_is_int(long got, long wanted, const char *what)
{
    if (tap_ok(got == wanted, "%s", what))
        return true;
    tap_diag("got %ld, wanted %ld", got, wanted);
    return false;
}

/* NULL is shown as the text (null) and equals nothing but itself. */
__attribute__((unused)) static bool tap_is(const char *got, const char *wanted, const char *what)
{
    bool same = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;

    if (tap_ok(same, "%s", what))
        return true;
    tap_diag("got:    %s", got ? got : "(null)");
    tap_diag("wanted: %s", wanted ? wanted : "(null)");
    return false;
}

__attribute__((unused)) static void tap_skip(const char *what, const char *reason)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_run, what, reason);
}

/* The last line of main: return tap_done(); */
__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_run);
    return tap_failed ? 1 : 0;
}

#endif
