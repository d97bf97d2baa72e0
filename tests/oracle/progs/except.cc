/* SPDX-License-Identifier: BSD-2-Clause */
/* Exceptions through frames with destructors, virtual calls, recursion. except [TURNS] */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static long live, unwound;

struct guard {
	guard() { live++; }
	~guard() { live--; unwound++; }
};

struct shape {
	virtual ~shape() {}
	virtual long area(int n) = 0;
};

struct square : shape {
	long area(int n) override { return (long)n * n; }
};

struct broken : shape {
	long area(int n) override
	{
		if (n % 3 == 0)
			throw std::runtime_error("three");
		if (n % 5 == 0)
			throw n;
		return n;
	}
};

static long deep(shape *s, int n, int depth)
{
	guard g;

	return depth ? deep(s, n, depth - 1) + 1 : s->area(n);
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 50;
	long sum = 0, caught = 0;
	square a;
	broken b;
	std::vector<std::string> names;

	for (int i = 0; i < turns; i++) {
		shape *s = i & 1 ? (shape *)&b : (shape *)&a;

		try {
			sum += deep(s, i, i % 7);
		} catch (const std::runtime_error &e) {
			names.push_back(e.what());
			caught++;
		} catch (int n) {
			sum -= n;
			caught++;
		}
	}
	printf("%ld %ld %ld %ld %zu\n", sum, caught, live, unwound, names.size());
	return live != 0;
}
