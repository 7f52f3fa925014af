"""What runs in the guests of tests/nfs/run, in place of a system: an NFS server, or a client that works on its mount.

The kernel's command line says which: `role=server`, `role=client1`, `role=client2`, `role=probe` to say that one has come up.
The work of a client is named there too: `processes=8 keys=32 statements=40 rows=50`. What the console shows with the prefix
`nfs: ` is a line of JSON for tests/nfs/table.py.
"""

import glob
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import time

# name, version and options of the mount.
WAYS = [
    ("v3 nolock", "vers=3,nolock"),
    ("v3 locks", "vers=3"),
    ("v4.2", "vers=4.2"),
    ("v4.2 actimeo=60", "vers=4.2,actimeo=60"),
]
LOCAL_LOCKS = "vers=3,nolock"
EXPORT = "/srv/shared"
MOUNT = "/mnt/shared"
MEETING_PORT = 7000
WRITERS = 4


def tell(**what):
    print("nfs: " + json.dumps(what), flush=True)


def run(*words, timeout=60, **more):
    return subprocess.run(words, check=True, timeout=timeout, stdin=subprocess.DEVNULL, **more)


def folder_of(way):
    return way.replace(" ", "-").replace("=", "-")


def databases_below(place):
    return sorted(glob.glob(place + "/**/kernels.v1.*", recursive=True))


def begun_below(place):
    """Generations but the first: what kiln begins where a database was damaged."""
    return [path for path in databases_below(place) if os.path.basename(path).startswith("kernels.v1.g")]


# ---- both


def address(cable, host):
    return f"10.99.{cable}.{host}"


def plug(device, cable, host):
    run("ip", "address", "add", address(cable, host) + "/24", "dev", device)
    run("ip", "link", "set", device, "up")


def start_lock_services(name):
    run("ip", "link", "set", "lo", "up")
    socket.sethostname(name)
    with open("/etc/hosts", "w") as hosts:
        hosts.write("127.0.0.1 localhost\n10.99.1.1 server\n10.99.1.2 client1\n10.99.2.2 client2\n")
    run("rpcbind", "-w")
    run("rpc.statd", "--no-notify")


# ---- the server


def serve_files():
    os.makedirs(EXPORT)
    # An emulated disk takes longer for a file than kiln waits for a store.
    run("mount", "-t", "tmpfs", "shared", EXPORT)
    with open("/etc/exports", "w") as exports:
        exports.write(f"{EXPORT} 10.99.0.0/16(rw,sync,fsid=1,no_subtree_check,no_root_squash)\n")
    # Nobody was here before, so nobody's locks are waited for.
    run("modprobe", "lockd", "nlm_grace_period=1")
    run("modprobe", "nfsd")
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    run("exportfs", "-ra")
    run("rpc.nfsd", "--grace-time", "10", "--lease-time", "10", "8")
    run("rpc.mountd")
    with open("/proc/fs/nfsd/v4_end_grace", "w") as grace:
        grace.write("Y")


def meet(listening):
    """Waits until both clients are here; says what they came for. They go on when let_go."""
    guests = [listening.accept()[0] for _ in range(2)]
    words = {guest.recv(200).decode().strip() for guest in guests}
    assert len(words) == 1, words
    return guests, words.pop()


def let_go(guests):
    for guest in guests:
        guest.sendall(b"go\n")
        guest.close()


def look_at_store(way):
    place = f"{EXPORT}/{folder_of(way)}"
    there = os.listdir(place) if os.path.isdir(place) else []
    tell(what="store", way=way, entries=there, databases=databases_below(place), begun=begun_below(place))


def look_at_rows():
    # As a file of its own machine: no client's cache stands between.
    try:
        with sqlite3.connect(f"{EXPORT}/rows.db") as database:
            kept = database.execute("select count(*) from rows").fetchone()[0]
            state = database.execute("pragma integrity_check").fetchone()[0].split("\n")[0]
    except sqlite3.Error as error:
        kept, state = None, str(error)
    tell(what="rows kept", kept=kept, state=state)


def serve():
    plug("eth0", 1, 1)
    plug("eth1", 2, 1)
    start_lock_services("server")
    serve_files()
    listening = socket.create_server(("0.0.0.0", MEETING_PORT))
    word = ""
    while word != "end":
        guests, word = meet(listening)
        if word == "rows begin":
            with sqlite3.connect(f"{EXPORT}/rows.db") as database:
                database.execute("create table rows (client, writer, number, text)")
        elif word == "rows end":
            look_at_rows()
        elif word.startswith("done "):
            look_at_store(word.removeprefix("done "))
        let_go(guests)
    tell(what="end")


# ---- a client


def come_to(client, word):
    with socket.create_connection((address(client, 1), MEETING_PORT), timeout=900) as server:
        server.sendall(word.encode() + b"\n")
        server.recv(10)


def wait_for_server(client):
    for _ in range(300):
        try:
            socket.create_connection((address(client, 1), 2049), timeout=2).close()
            return
        except OSError:
            time.sleep(1)
    raise SystemExit("the server does not come up")


def mount(client, options):
    os.makedirs(MOUNT, exist_ok=True)
    run("mount", "-t", "nfs", "-o", options, f"{address(client, 1)}:{EXPORT}", MOUNT)


def end_helpers():
    """kiln-remote outlives those who asked it, and would keep the mount."""
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as comm:
                if comm.read().startswith("kiln-remote"):
                    os.kill(int(path.split("/")[2]), 15)
        except OSError:
            pass  # it has ended
    time.sleep(1)


def compile_on_mount(client, way, options, work):
    shutil.rmtree("/var/tmp/kiln-0", ignore_errors=True)
    mount(client, options)
    node = subprocess.Popen(
        ["/nfs/bin/kiln_nfs_node", "--processes", work["processes"], "--keys", work["keys"], "--statements", work["statements"]],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/root",
            "LD_LIBRARY_PATH": "/nfs/lib",
            "KILN_CACHE_DIR": f"{MOUNT}/{folder_of(way)}",
            "KILN_NVRTC": glob.glob("/nfs/nvrtc/libnvrtc.so.*")[0],
        },
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    node.stdout.readline()  # it is ready
    come_to(client, "begin " + way)
    out, errors = node.communicate("begin\n", timeout=1500)
    told = json.loads(out) if out else {"failures": int(work["keys"])}
    tell(what="node", way=way, client=client, status=node.returncode, said=sorted(set(errors.splitlines()))[:8],
         begun=begun_below("/var/tmp/kiln-0"), local=len(databases_below("/var/tmp/kiln-0")), **told)
    end_helpers()
    run("umount", MOUNT)
    come_to(client, "done " + way)


def write_rows(client, writer, rows):
    """How many rows SQLite said it keeps, and what it said else."""
    wrote, errors = 0, {}
    for number in range(rows):
        database = sqlite3.connect(f"{MOUNT}/rows.db", timeout=60)
        try:
            with database:
                database.execute("insert into rows values (?, ?, ?, ?)", (client, writer, number, "x" * 500))
            wrote += 1
        except sqlite3.Error as error:
            errors[str(error)] = errors.get(str(error), 0) + 1
        finally:
            database.close()
    return wrote, errors


def write_rows_together(client, rows):
    mount(client, LOCAL_LOCKS)
    come_to(client, "rows begin")
    answers = []
    for writer in range(WRITERS):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, json.dumps(write_rows(client, writer, rows)).encode())
            os._exit(0)
        os.close(writing)
        answers.append(reading)
    wrote, errors = 0, {}
    for reading in answers:
        with os.fdopen(reading) as answer:
            written, failed = json.loads(answer.read())
        wrote += written
        for text, times in failed.items():
            errors[text] = errors.get(text, 0) + times
    tell(what="rows", client=client, asked=WRITERS * rows, wrote=wrote, errors=errors)
    run("umount", MOUNT)
    come_to(client, "rows end")


def work_on_mount(client, work):
    plug("eth0", client, 2)
    start_lock_services(f"client{client}")
    wait_for_server(client)
    write_rows_together(client, int(work["rows"]))
    for way, options in WAYS:
        compile_on_mount(client, way, options, work)
    come_to(client, "end")
    tell(what="end")


def main():
    # Without a system's first process there is no PATH.
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    with open("/proc/cmdline") as cmdline:
        work = dict(word.split("=", 1) for word in cmdline.read().split() if "=" in word)
    if work["role"] == "server":
        serve()
    elif work["role"] == "probe":
        tell(what="up")
    else:
        work_on_mount(int(work["role"][-1]), work)


main()
