/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a libcheck suite with TAP on standard output; exit status 1 when a test failed. */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <check.h>
#include <stdlib.h>

static inline int unit_run(Suite *s)
{
	SRunner *sr = srunner_create(s);
	int failed;

	srunner_set_tap(sr, "-");
	srunner_run_all(sr, CK_SILENT);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
