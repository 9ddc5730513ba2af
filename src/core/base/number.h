/* Numbers and switches as users write them. */
#ifndef GPUBIND_CORE_BASE_NUMBER_H
#define GPUBIND_CORE_BASE_NUMBER_H

#include <stdbool.h>

#include "core/base/error.h"

/* TEXT is a decimal number from LOW to HIGH: digits alone, no sign, no blanks. Else false,
 * and NUMBER is untouched. */
bool number_read(const char *text, int low, int high, int *number);

/* The same with a sentence; FROM is where the text came from: "--timeout", "GPUBIND_TIMEOUT". */
int number_parse(const char *text, int low, int high, const char *from, int *number,
                 struct gpubind_error *err);

/* "1", "yes", "true" and "on" as 1, their opposites as 0. */
int switch_parse(const char *text, const char *from, int *number, struct gpubind_error *err);

#endif
