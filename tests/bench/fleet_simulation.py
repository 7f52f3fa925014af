"""What a fleet that starts together asks of one server, machine by machine, as runtime/obtainer.cpp asks: a simulation.

Machines want the same kernels in the same order, some at a time. Each asks what the server has; who finds nothing asks for the
lease; who has it compiles, puts the entry, and gives it back; the others look again, less often the longer they wait. The
server serves one request after the other, in the time that was measured for one (kiln_remote_bench), and sends what its line takes.

    fleet_simulation.py --machines 10000 --kernels 20 --compile 1.0

prints one line of JSON: how long it took, what was compiled, and what the server was asked. kiln_fleet is the same for real.
"""

import argparse
import heapq
import json

SHORTEST, LONGEST, PART = 0.1, 2.0, 8  # time_between_looks()
LEASE_EVERY = 1.0  # time_between_leases
OBJECTS = 3  # That a push puts beside the parcel: the source, the list of texts, the hint.


class Server:
    """Serves in order: a request takes its time, and an object the line's."""

    def __init__(self, request, line):
        self.request, self.line = request, line
        self.free_at = self.line_free_at = 0.0
        self.requests = self.sent = 0
        self.busy = 0.0

    def ask(self, now, size=0):
        """When the answer is there."""
        self.requests += 1
        self.sent += size
        self.busy += self.request
        self.free_at = max(self.free_at, now) + self.request
        if not size:
            return self.free_at
        self.line_free_at = max(self.line_free_at, self.free_at) + size / self.line
        return self.line_free_at


class Fleet:
    def __init__(self, options):
        self.options = options
        self.server = Server(options.request, options.line)
        self.stored, self.leased, self.compiled = set(), set(), 0
        self.events, self.count = [], 0
        self.cores = [options.jobs] * options.machines
        self.waiting_for_core = [[] for _ in range(options.machines)]

    def at(self, time, step, *arguments):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, step, arguments))

    def run(self):
        for machine in range(self.options.machines):
            for lane in range(self.options.lanes):
                self.at(0.0, self.begin, machine, lane, lane * self.options.kernels // self.options.lanes, 0)
        now = 0.0
        while self.events:
            now, _, step, arguments = heapq.heappop(self.events)
            step(now, *arguments)
        return now

    def begin(self, now, machine, lane, kernel, done):
        """One process looks up its next kernel: what its machine has, costs nothing here."""
        if done == self.options.kernels:
            return
        job = (machine, lane, kernel % self.options.kernels, done)
        if job[2] in self.stored:  # What answers the first look brings the object along.
            return self.at(self.server.ask(now, self.options.size), self.next, job)
        self.at(self.server.ask(now), self.looked, job, None, now)

    def next(self, now, job):
        machine, lane, kernel, done = job
        self.at(now, self.begin, machine, lane, kernel + 1, done + 1)

    def looked(self, now, job, began, asks_for_lease):
        """The hints are here; `began`: of the waiting, where it is."""
        kernel = job[2]
        if kernel in self.stored:
            return self.next(self.server.ask(now, self.options.size), job)
        if now >= asks_for_lease:
            answer = self.server.ask(now)
            return self.at(answer, self.asked, job, now if began is None else began)
        self.nap(now, job, began, asks_for_lease)

    def asked(self, now, job, began):
        kernel = job[2]
        if kernel in self.stored:  # The look that follows each answer finds it.
            self.server.ask(now)
            return self.next(self.server.ask(now, self.options.size), job)
        if kernel in self.leased:
            return self.nap(self.server.ask(now), job, began, now + LEASE_EVERY)
        self.leased.add(kernel)
        self.want_core(self.server.ask(now), job)

    def nap(self, now, job, began, asks_for_lease):
        wait = min(max((now - began) / PART, SHORTEST), LONGEST)
        self.at(now + wait, self.look_again, job, began, asks_for_lease)

    def look_again(self, now, job, began, asks_for_lease):
        self.at(self.server.ask(now), self.looked, job, began, asks_for_lease)

    def want_core(self, now, job):
        machine = job[0]
        if self.cores[machine]:
            self.cores[machine] -= 1
            self.at(now + self.options.compile, self.compiled_one, job)
        else:
            self.waiting_for_core[machine].append(job)

    def compiled_one(self, now, job):
        machine = job[0]
        self.compiled += 1
        self.cores[machine] += 1
        if self.waiting_for_core[machine]:
            self.want_core(now, self.waiting_for_core[machine].pop(0))
        put = now
        for _ in range(OBJECTS):
            put = self.server.ask(put)
        put = self.server.ask(put, self.options.size)
        self.at(put, self.put, job[2])
        self.next(now, job)

    def put(self, now, kernel):
        self.stored.add(kernel)
        self.server.ask(now)
        self.leased.discard(kernel)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=16)
    parser.add_argument("--kernels", type=int, default=32)
    parser.add_argument("--lanes", type=int, default=1, help="processes of a machine that want different kernels at a time")
    parser.add_argument("--jobs", type=int, default=2, help="compiles that a machine does at a time")
    parser.add_argument("--compile", type=float, default=1.0, help="seconds")
    parser.add_argument("--size", type=int, default=26_000, help="bytes of a parcel")
    parser.add_argument("--request", type=float, default=12e-6, help="seconds of the server for one request")
    parser.add_argument("--line", type=float, default=1.25e9, help="bytes a second of the server's line")
    options = parser.parse_args()
    fleet = Fleet(options)
    seconds = fleet.run()
    server = fleet.server
    print(json.dumps({
        "machines": options.machines, "kernels": options.kernels, "seconds": round(seconds, 2),
        "compiles": fleet.compiled, "requests": server.requests, "megabytes": round(server.sent / 1e6, 1),
        "requests_per_second": round(server.requests / seconds), "busy": round(server.busy / seconds, 3)}))


if __name__ == "__main__":
    main()
