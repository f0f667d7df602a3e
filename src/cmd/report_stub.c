#include "src/cmd/report.h"
int report_job(const struct report_options *o, const char *ids) { (void)o; (void)ids; return 1; }
int report_site(const struct report_options *o) { (void)o; return 1; }
