/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/gather/gather_mask.h"

#include "src/libutil/util.h"
#include "tap.h"

#define HOST "node17"

static const struct {
	const char *text, *masked;
} masked[] = {
	{ "", "" },
	{ "at 00:1a:2B:3c:4d:5e.", "at 00:00:00:00:00:00." },
	{ "00-1a-2b-3c-4d-5e", "00-00-00-00-00-00" },
	{ "of 0002:c903:00ab:12ef", "of 0000:0000:0000:0000" },
	{ "fe80:0000:0000:0000:0002:c903:00ab:12ef", "0000:0000:0000:0000:0000:0000:0000:0000" },
	{ "https://10.1.22.254:443/", "https://00.0.00.000:443/" },
	{ "[fe80::2:c9ff:feab:12ef]", "[0000::0:0000:0000:0000]" },
	{ "::1", "::0" },
	{ "2001:db8::", "0000:000::" },
	{ "GPU-5c5b3a4e-01f2-8a9b-77cc-0123456789ab", "GPU-00000000-0000-0000-0000-000000000000" },
	{ "Serial Number: \tX12-7", "Serial Number: \t000-0" },
	{ "unique_id 1234567890", "unique_id 0000000000" },
	{ "Board serial=AB12\nname node", "Board serial=0000\nname node" },
	{ "on Node17.hpc.example.org up", "on xxxxxx.xxx.xxxxxxx.xxx up" },
	{ "node17", "xxxxxx" },
	{ "{\"Id\":\"1\",\"SerialNumber\" : \"AB\\\"12\",\"Watts\":17}",
	  "{\"Id\":\"1\",\"SerialNumber\" : \"00\\\"00\",\"Watts\":17}" },
	{ " {\"UUID\":null,\"Name\":\"AB12\",\"SKU\":\"7", " {\"UUID\":null,\"Name\":\"AB12\",\"SKU\":\"0" },
};

/* What describes hardware must stay. */
static const char *const kept[] = {
	"0000:3b:00.0",
	"intel-rapl:0:0",
	"package-0-die-1",
	"node170",
	"mynode17",
	"cpu MHz\t\t: 2400.000",
	"address sizes\t: 46 bits physical, 48 bits virtual",
	"pci:v00008086d000056C0sv0000",
	"12:34:56",
	"5.10.0-26",
	"0-3,8-11",
	"262143328850",
	"std::string",
	"hca_type: MT4129",
	"fw 28.39.1002",
};

static void test_table(void)
{
	char text[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(masked); i++) {
		(void)snprintf(text, sizeof(text), "%s", masked[i].text);
		gather_mask(text, strlen(text), HOST);
		ok(!strcmp(text, masked[i].masked), "'%s' is masked", masked[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		(void)snprintf(text, sizeof(text), "%s", kept[i]);
		gather_mask(text, strlen(text), HOST);
		ok(!strcmp(text, kept[i]), "'%s' stays", kept[i]);
	}
}

/* Random texts of hardware and secrets, with random blanks between them. */
static void test_mixed(void)
{
	static const char *const blanks[] = { " ", "\t", "\n", ", ", " = ", "\n\n" };
	unsigned int lost = 0, leaked = 0, longer = 0, round, i;

	srandom(17);
	for (round = 0; round < 5000; round++) {
		char text[2048], want[2048], *value;
		size_t used = 0;

		for (i = 0; i < 12; i++) {
			const char *blank = blanks[(size_t)random() % ARRAY_SIZE(blanks)];
			size_t secret = (size_t)random() % 10; /* those without a key */
			size_t k = (size_t)random() % ARRAY_SIZE(kept);
			bool is_kept = random() % 2;

			/* a key makes its whole line secret, so it stands alone */
			(void)snprintf(text + used, sizeof(text) - used, "%s%s",
				       is_kept ? kept[k] : masked[secret].text, blank);
			used += (size_t)snprintf(want + used, sizeof(want) - used, "%s%s",
						 is_kept ? kept[k] : masked[secret].masked, blank);
		}
		gather_mask(text, used, HOST);
		longer += strlen(text) != used;
		for (i = 1; i < 10; i++) {
			value = masked[i].text[0] ? strstr(text, masked[i].text) : NULL;
			leaked += value != NULL;
		}
		lost += strcmp(text, want) != 0;
		if (strcmp(text, want) != 0 && lost < 3)
			diag("got '%s', expected '%s'", text, want);
	}
	ok(!leaked, "no secret is in any of 5,000 random texts");
	ok(!lost, "and nothing else of them is changed");
	ok(!longer, "and their length stays");
}

int main(void)
{
	test_table();
	test_mixed();
	return done_testing();
}
