// SPDX-License-Identifier: GPL-2.0-or-later
// two_callers SECONDS PERCENT - as two_callers.c, with templates, virtual functions, closures and exceptions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

static long own_ns()
{
	timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static volatile double sink;

template <class T> struct work {
	virtual ~work() = default;
	virtual T go(int n) = 0;
};

template <class T> struct sorting : work<T> {
	std::mt19937 random;

	T go(int n) override
	{
		std::vector<T> v(n);

		std::generate(v.begin(), v.end(), [this] { return T(random()); });
		std::sort(v.begin(), v.end(), [](T a, T b) { return a > b; });
		return v[n / 2];
	}
};

template <class T> struct counting : work<T> {
	T go(int n) override
	{
		std::map<std::string, T> m;
		T sum = 0;

		for (int i = 0; i < n; i++)
			m[std::to_string(i * 7919 % 1009)] += i;
		for (const auto &entry : m)
			sum += entry.second;
		return sum;
	}
};

__attribute__((noinline)) static int fail(int depth)
{
	if (!depth)
		throw std::string("deep");
	return fail(depth - 1) + 1;
}

__attribute__((noinline)) static void catch_it()
{
	try {
		sink = sink + fail(5);
	} catch (const std::string &text) {
		sink = sink + text.size();
	}
}

static sorting<double> sorter;
static counting<double> counter;
static work<double> *const kind[] = { &sorter, &counter };

__attribute__((noinline)) void heavy(long ns)
{
	const std::function<double(int)> both = [](int n) { return kind[0]->go(n) + kind[1]->go(n); };
	const long end = own_ns() + ns;

	while (own_ns() < end) {
		sink = sink + both(100);
		catch_it();
	}
}

__attribute__((noinline)) void light(long ns)
{
	const long end = own_ns() + ns;

	while (own_ns() < end) {
		sink = sink + kind[1]->go(100) + kind[0]->go(90);
		catch_it();
	}
}

int main(int argc, char **argv)
{
	const long end = argc > 1 ? long(atof(argv[1]) * 1e9) : 0, percent = argc > 2 ? atol(argv[2]) : 50;
	long in_heavy = 0;

	while (own_ns() < end) {
		const long begin = own_ns();

		heavy(2000000 * percent);
		in_heavy += own_ns() - begin;
		light(2000000 * (100 - percent));
	}
	std::printf("%.4f\n", double(in_heavy) / double(own_ns()));
}
