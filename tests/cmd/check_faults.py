# SPDX-License-Identifier: GPL-2.0-or-later
"""A site in a private tree, broken in one way at a time, for check-faults.t.

Each fault has a function that makes it and a part of the finding that ceems check must print. Then the advice is typed as it
is printed: a line of a configuration file is set, a command is run, up to three rounds. MENDED says whether nothing is left.
"""
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

build = os.environ["top_builddir"]
ceems = os.path.abspath(build + "/src/cmd/ceems")
user = "daemon"  # SlurmUser; every machine has it
host = socket.gethostname().split(".")[0]
count = failed = 0


def ok(good, what, more=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    if not good and more:
        print("\n".join("# " + line for line in more.splitlines()), flush=True)


class Site:
    """The files below DIR, and commands of Slurm that answer as their files say."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="ceems")
        os.chmod(self.dir, 0o755)
        os.mkdir(self.dir + "/site")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", self.dir + "/site"], check=True)
        self.recorder = self.slurmd = None

    def path(self, name):
        return f"{self.dir}/site/{name}"

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def set(self, name, key, value):
        """Sets KEY in the file NAME in place of its last line; a VALUE of None removes it."""
        lines = self.read(name).splitlines()
        at = [i for i, line in enumerate(lines) if line.split("=")[0].strip().lower() == key.lower()]
        new = [] if value is None else [f"{key}={value}"]
        if at:
            lines[at[-1] : at[-1] + 1] = new
        else:
            lines += new
        self.write(name, "\n".join(lines) + "\n")

    def slurm(self, key, value):
        self.set("etc/slurm.conf", key, value)

    def conf(self, key, value):
        self.set("etc/ceems.conf", key, value)

    def fake(self, name, body):
        self.write("bin/" + name, "#!/bin/sh\n" + body + "\n", 0o755)

    def start_recorder(self):
        self.stop_recorder()
        store = [line for line in self.read("etc/ceems.conf").splitlines() if line.startswith("StoreDir=")][-1].split("=")[1]
        if os.path.realpath(store) in SYSTEM or (os.path.exists(store) and not os.path.isdir(store)):
            return
        os.makedirs(store, exist_ok=True)
        shutil.chown(store, user)
        fd = os.open(store + "/lock", os.O_RDWR | os.O_CREAT, 0o600)
        shutil.chown(store + "/lock", user)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.recorder = subprocess.Popen([self.path("bin/ceems-recorder"), "1000"], pass_fds=[fd])
        os.close(fd)

    def stop_recorder(self):
        if self.recorder:
            self.recorder.kill()
            self.recorder.wait()
        if self.slurmd:
            self.slurmd.kill()
            self.slurmd.wait()
        self.recorder = self.slurmd = None

    def good(self):
        """Makes the whole site anew, without a fault."""
        self.stop_recorder()
        for name in os.listdir(self.path("")):
            subprocess.run(["umount", "-l", self.path(name)], stderr=subprocess.DEVNULL)
            full = self.path(name)
            shutil.rmtree(full) if os.path.isdir(full) and not os.path.islink(full) else os.remove(full)
        for name in ["etc", "bin", "plugins", "run", "log", "prom", "spool", "spool/inbox", "spool/store", "helpers"]:
            os.makedirs(self.path(name))
        for name in ["log", "prom", "spool/inbox", "spool/store"]:
            shutil.chown(self.path(name), user)
            os.chmod(self.path(name), 0o755)
        for part, so in [("acct_gather", "acct_gather_energy_ceems.so"), ("jobcomp", "jobcomp_ceems.so"), ("spank", "spank_ceems.so")]:
            shutil.copy(f"{build}/{part}/.libs/{so}", self.path("plugins"))
        for name in os.listdir(build + "/src/helpers"):
            full = f"{build}/src/helpers/{name}"
            if os.path.isfile(full) and os.access(full, os.X_OK):
                shutil.copy(full, self.path("helpers"))
        self.write("plugins/auth_munge.so", "")
        shutil.copy(shutil.which("sleep"), self.path("bin/ceems-recorder"))
        for name in ["munge", "sinfo", "sacctmgr", "slurmctld", "slurmd"]:
            self.fake(name, "exit 0")
        tres = subprocess.run([ceems, "tres", "--set", "basic"], capture_output=True, text=True).stdout.splitlines()[-1]
        self.write(
            "etc/slurm.conf",
            f"ClusterName=t\nSlurmctldHost={host}\nSlurmUser={user}\nPluginDir={self.path('plugins')}\n"
            f"NodeName=n[1-2] NodeHostname={host},elsewhere CPUs=1\nPartitionName=p Nodes=ALL\nPrologFlags=Alloc,Contain\n"
            "AcctGatherEnergyType=acct_gather_energy/ceems\nJobAcctGatherType=jobacct_gather/linux\n"
            f"AccountingStorageType=accounting_storage/slurmdbd\n{tres}\nJobCompType=jobcomp/ceems\n",
        )
        self.write("etc/plugstack.conf", "optional spank_ceems.so\n")
        self.write(
            "etc/ceems.conf",
            f"Country=FR\nEmissionFactorFile={os.path.abspath(os.environ['top_srcdir'])}/src/libemission/data/emission-factors.csv\n"
            f"HelperDir={self.path('helpers')}\nLedgerDir={self.path('run')}\nTextfileDir={self.path('prom')}\n"
            f"InboxDir={self.path('spool/inbox')}\nStoreDir={self.path('spool/store')}\nStoreMaxSize=1M\n"
            f"RecordFile={self.path('log/jobs.jsonl')}\nSqliteFile={self.path('log/jobs.db')}\nBpfDir=\nProfileDir=none\nMailProg=/usr/bin/true\n",
        )
        self.start_recorder()

    def check(self, *more):
        env = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], SLURM_CONF=self.path("etc/slurm.conf"))
        args = [ceems, "check", "--json", "--conf", self.path("etc/ceems.conf"), *more]
        out = subprocess.run(args, capture_output=True, text=True, env=env, timeout=120)
        try:
            return json.loads(out.stdout)["findings"]
        except ValueError:
            return [{"level": "error", "what": "output", "text": out.stdout + out.stderr, "hint": None, "file": None}]


def bad(findings):
    return {(f["what"], f["text"]): f for f in findings if f["level"] in ("warn", "error")}


# --- typing the advice

# install -d changes a folder that exists
HARMFUL = re.compile(r"\b(chown|chmod|chgrp|setfacl|rm|mv|install -d)\b")


def type_line(site, name, line):
    """Types LINE, a hint, into the file NAME. False: a person must think first."""
    line = line.split("  #")[0]
    remove = re.search(r"(?:remove|delete) line (\d+) of (/\S+?)(?:,|$)", line) or re.search(r"line (\d+).*; or remove it", line)
    if remove:
        path = remove.group(2) if remove.lastindex > 1 else site.path("etc/" + name)
        with open(path) as f:
            lines = f.read().splitlines()
        del lines[int(remove.group(1)) - 1]
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        return True
    out = re.match(r"take (\w+) and its like out of (\S+)", line)
    if out:
        with open(out.group(2)) as f:
            lines = [entry for entry in f.read().splitlines() if not entry.startswith(out.group(1)[:6])]
        with open(out.group(2), "w") as f:
            f.write("\n".join(lines) + "\n")
        return True
    if name == "plugstack.conf":
        text = "".join(entry + "\n" for entry in site.read("etc/" + name).splitlines() if "spank_ceems" not in entry)
        site.write("etc/" + name, text + line + "\n")
        return True
    key = re.match(r"(\w+)=(\S*)( in ceems.conf.*)?$", line)
    if key and "<" not in line:
        site.set("etc/" + name, key.group(1), key.group(2))
        return True
    return False


def run_command(site, line):
    line = line.split("  #")[0]
    if re.search(r"ceems-recorder", line) and "systemctl" in line:
        site.start_recorder()
    elif "systemctl" in line:
        for name in ["munge", "slurmdbd", "slurmctld"]:
            if re.search(r"systemctl (enable --now|start|restart) " + name, line):
                site.fake({"slurmdbd": "sacctmgr", "slurmctld": "sinfo"}.get(name, name), "exit 0")
    elif re.match(r"(chown|chmod|mkdir|install|mount|rm|setfacl) ", line) and "<" not in line:
        return subprocess.run(line, shell=True, capture_output=True).returncode == 0
    else:
        return False
    return True


def type_advice(site, findings):
    """Types all hints of FINDINGS, each once. False: nothing could be typed."""
    done = set()
    for f in findings:
        hint = f["hint"]
        if not hint or hint in done:
            continue
        if run_command(site, hint) if f["file"] == "system" else type_line(site, f["file"], hint):
            done.add(hint)
    return bool(done)


# --- the faults

FAULTS = []


def fault(part, mended=True, level="error", what=None):
    """MENDED: the advice, typed, leaves nothing. LEVEL: the worst finding is at least this."""

    def add(make):
        FAULTS.append((what or make.__doc__, part, mended, level, make))
        return make

    return add


def line_fault(text, part, mended=True):
    def make(s):
        s.write("etc/ceems.conf", s.read("etc/ceems.conf") + text + "\n")

    FAULTS.append((f"ceems.conf: {text!r}", part, mended, "error", make))


def slurm_fault(key, value, part, mended=True, level="error"):
    FAULTS.append((f"slurm.conf: {key}={value}", part, mended, level, lambda s: s.slurm(key, value)))


def conf_fault(key, value, part, mended=True, level="error", prepare=None):
    def make(s):
        if prepare:
            prepare(s)
        s.conf(key, value.format(dir=s.path("")[:-1]))

    FAULTS.append((f"ceems.conf: {key}={value}", part, mended, level, make))


# the old ones
line_fault("SampleIntervall=1s", "unknown key; did you mean SampleInterval?")
line_fault("Country=DE", "Country: already set in line 1")
line_fault("PUE=0.5", "'0.5' is not between 1 and 5")
line_fault("PUE", "no '='")
line_fault("Sinks=files", "Sinks", mended=True)
conf_fault("Sinks", "kafka", "KafkaConf", mended=False)


@fault("nonsense.key", mended=False)
def _kafka_property(s):
    "a property in KafkaConf that librdkafka does not know"
    s.write("etc/kafka.conf", "bootstrap.servers=127.0.0.1:1\nnonsense.key=1\n", 0o600)
    shutil.chown(s.path("etc/kafka.conf"), user)
    s.conf("Sinks", "kafka")
    s.conf("KafkaConf", s.path("etc/kafka.conf"))


@fault("no bootstrap server answers", mended=False, level="warn")
def _broker_down(s):
    "a broker that is down"
    s.write("etc/kafka.conf", "bootstrap.servers=127.0.0.1:1\n", 0o600)
    shutil.chown(s.path("etc/kafka.conf"), user)
    s.conf("Sinks", "kafka")
    s.conf("KafkaConf", s.path("etc/kafka.conf"))


@fault("others can open it", mended=False, level="warn")
def _open_secrets(s):
    "an option file of mode 0644 (and no server)"
    s.write("etc/my.cnf", "[client]\nsocket=/nonexistent\nuser=x\npassword=y\n", 0o644)
    s.conf("Sinks", "mariadb")
    s.conf("MariadbDefaultsFile", s.path("etc/my.cnf"))


slurm_fault("PrologFlags", "Alloc", "PrologFlags is Alloc")
slurm_fault("PrologFlags", None, "PrologFlags is not set")
slurm_fault("AcctGatherEnergyType", "acct_gather_energy/rapl,acct_gather_energy/ceems", "is a list")
slurm_fault("AcctGatherEnergyType", "acct_gather_energy/rapl", "jobs get no energy from slurm-ceems")
slurm_fault("AcctGatherEnergyType", None, "AcctGatherEnergyType is not set")


@fault("ic/ceems_co2e", level="warn")
def _tres_one(s):
    "one TRES of ours is missing, and named"
    line = [x for x in s.read("etc/slurm.conf").splitlines() if x.startswith("AccountingStorageTRES=")][0]
    s.slurm("AccountingStorageTRES", line.split("=")[1].replace("ic/ceems_co2e,", "").replace(",ic/ceems_co2e", ""))


slurm_fault("AccountingStorageTRES", None, "TRES of slurm-ceems are not in", level="warn")
slurm_fault("AccountingStorageTRES", "gres/gpu", "TRES of slurm-ceems are not in", level="warn")
slurm_fault("AccountingStorageType", None, "energy only, and not in sacct", level="warn")
slurm_fault("JobCompType", None, "JobCompType is not set", level="warn")
slurm_fault("JobCompType", "jobcomp/filetxt", "JobCompType is jobcomp/filetxt", level="warn")
slurm_fault("JobAcctGatherType", "jobacct_gather/none", "Slurm sends no usage of steps")
slurm_fault("JobAcctGatherType", None, "JobAcctGatherType is not set")


@fault("which does not exist: Slurm refuses its configuration")
def _plugin_dir(s):
    "a folder of PluginDir that is not there"
    s.slurm("PluginDir", s.path("plugins") + ":" + s.path("nosuch"))


@fault("jobcomp_ceems.so is not in PluginDir", mended=False)
def _plugin_missing(s):
    "a plugin that is not installed"
    os.remove(s.path("plugins/jobcomp_ceems.so"))


@fault("does not name spank_ceems.so", level="warn")
def _plugstack(s):
    "plugstack.conf without us"
    s.write("etc/plugstack.conf", "# nothing\n")


@fault("is another energy plugin's")
def _leftovers(s):
    "acct_gather.conf has keys of another energy plugin"
    s.write("etc/acct_gather.conf", "EnergyIPMIFrequency=10\n")


@fault("does not belong to SlurmUser")
def _spool_owner(s):
    "StoreDir of the wrong owner"
    for name in ["spool/store", "spool/store/lock"]:
        shutil.chown(s.path(name), "root")


@fault("does not answer", what="slurmdbd is down")
def _slurmdbd(s):
    s.fake("sacctmgr", "echo 'Connection refused'; exit 1")


conf_fault("EnergySources", "rapl", "rapl", mended=False, prepare=lambda s: s.conf("SysRoot", s.path("run")))
conf_fault("TextfileDir", "{dir}/nosuch", "cannot create: No such file")
conf_fault("TextfileDir", "/proc", "/proc/ceems.prom.check.tmp: cannot create")
conf_fault("TextfileDir", "/sys/kernel", "/sys/kernel/ceems.prom.check.tmp: cannot create")
slurm_fault("AccountingStorageTRES", "gres/gpu,nonsense", "which Slurm does not know: slurmctld does not start")


@fault("loaded by", level="warn")
def _twice(s):
    "spank_ceems.so is loaded twice"
    s.write("etc/plugstack.conf", "optional spank_ceems.so\noptional spank_ceems.so\n")


# the new ones
@fault("others than slurmd's user can write to")
def _ledger_open(s):
    "LedgerDir that every user may write"
    s.write("run/ceems/x.ledger", "")
    s.conf("LedgerDir", s.path("run/ceems"))
    os.chmod(s.path("run/ceems"), 0o777)


@fault("mounted noexec")
def _noexec(s):
    "HelperDir is mounted noexec"
    os.mkdir(s.path("noexec"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", s.path("noexec")], check=True)
    for name in os.listdir(s.path("helpers")):
        shutil.copy(s.path("helpers/" + name), s.path("noexec"))
    s.conf("HelperDir", s.path("noexec"))


@fault("no free inode", mended=False)
def _inodes(s):
    "no inode for RecordFile"
    os.mkdir(s.path("few"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=2,mode=777", "none", s.path("few")], check=True)
    s.write("few/x", "")
    s.conf("RecordFile", s.path("few/jobs.jsonl"))


slurm_fault("AccountingStorageTRES", "gres/gpu,ic/ceems_nonsense", "which slurm-ceems does not have")


@fault("is there twice", level="warn")
def _copies(s):
    "two copies of a plugin in PluginDir"
    os.mkdir(s.path("more"))
    shutil.copy(s.path("plugins/jobcomp_ceems.so"), s.path("more"))
    s.slurm("PluginDir", s.path("plugins") + ":" + s.path("more"))


@fault("acct_gather_energy_ceems.so", mended=False)
def _empty_plugin(s):
    "a plugin of 0 bytes"
    s.write("plugins/acct_gather_energy_ceems.so", "")


@fault("srun crashes")
def _loop(s):
    "plugstack.conf includes itself"
    s.write("etc/plugstack.conf", "include plugstack.conf\noptional spank_ceems.so\n")


@fault("srun crashes")
def _loop_two(s):
    "two files of plugstack.conf include each other"
    s.write("etc/plugstack.conf", "optional spank_ceems.so\ninclude more.d/*\n")
    s.write("etc/more.d/a.conf", "include ../plugstack.conf\n")


@fault("each srun and each job step fails")
def _required(s):
    "plugstack.conf requires a file that is not there"
    s.write("etc/plugstack.conf", "required /opt/none/spank_ceems.so\n")


@fault("cannot read", mended=True)
def _conf_closed(s):
    "ceems.conf of mode 0600"
    os.chmod(s.path("etc/ceems.conf"), 0o600)


@fault("others than its owner may write it")
def _conf_open(s):
    "ceems.conf that others may write"
    os.chmod(s.path("etc/ceems.conf"), 0o666)


@fault("cannot enter")
def _parent_closed(s):
    "a folder above StoreDir is closed"
    os.makedirs(s.path("ceems/store"))
    shutil.chown(s.path("ceems/store"), user)
    os.chmod(s.path("ceems"), 0o700)
    os.chmod(s.path("ceems/store"), 0o700)
    s.conf("StoreDir", s.path("ceems/store"))


def _fifo(s):
    os.mkfifo(s.path("log/fifo"))


conf_fault("RecordFile", "{dir}/log/fifo", "is a fifo, not a regular file", prepare=_fifo)
conf_fault("RecordFile", "{dir}/log", "is a folder, not a regular file")
conf_fault("RecordFile", "/var/log/ceems-jobs.jsonl", "cannot write in /var/log")
conf_fault("RecordFile", "/root/x.jsonl", "/root: SlurmUser")
conf_fault("RecordFile", "/ceems-jobs.jsonl", "cannot write in /")
conf_fault("StoreDir", "/var/lib", "cannot write in /var/lib")
conf_fault("StoreDir", "/var/spool", "cannot write in /var/spool")
conf_fault("StoreDir", "/tmp", "other users can write to /tmp")
conf_fault("StoreDir", "/etc/passwd", "/etc/passwd")
conf_fault("LedgerDir", "/var", "is not in memory", level="warn")
conf_fault("TraceDir", "/var", "all users must be able to write there", level="warn")
conf_fault("TraceDir", "{dir}/nosuch", "nosuch")


@fault("cannot enter /root", mended=False)
def _secret_closed(s):
    "OtlpHeaders in /root (and no collector)"
    with open("/root/headers", "w") as f:  # /root is a mount of this test
        f.write("X: y\n")
    os.chmod("/root/headers", 0o600)
    s.conf("Sinks", "otlp")
    s.conf("OtlpUrl", "https://127.0.0.1:1")
    s.conf("OtlpHeaders", "/root/headers")


@fault("is not an executable program: slurmctld sends no mail")
def _mail_prog(s):
    "slurm.conf names a ceems-mail that is missing"
    s.slurm("MailProg", "/usr/bin/ceems-mail.d/ceems-mail")


@fault("was deleted under it")
def _store_deleted(s):
    "StoreDir was deleted under the recorder"
    shutil.rmtree(s.path("spool/store"))


@fault("none are mounted, and JobAcctGatherType is jobacct_gather/cgroup", mended=True)
def _no_cgroups(s):
    "no cgroup is mounted"
    subprocess.run("umount -R -l /sys/fs/cgroup", shell=True, stderr=subprocess.DEVNULL)
    s.slurm("JobAcctGatherType", "jobacct_gather/cgroup")


SLURMD = """
import ctypes, mmap, sys, time
f = open(sys.argv[1], "r+b")
page = mmap.mmap(f.fileno(), 4096)
ctypes.CDLL(None).prctl(15, b"slurmd", 0, 0, 0)
print(flush=True)
time.sleep(1000)
"""


@fault("bpf() is denied to it", mended=False, level="warn")
def _bpf_denied(s):
    "a slurmd without BPF (simulated: a process of that name that maps the ledger)"
    s.conf("BpfDir", "/sys/fs/bpf/ceems")
    s.write("run/n1.ledger", "x" * 4096)
    s.slurmd = subprocess.Popen([sys.executable, "-c", SLURMD, s.path("run/n1.ledger")], stdout=subprocess.PIPE)
    s.slurmd.stdout.readline()


@fault("ceems-recorder does not run", what="the recorder is down")
def _recorder_down(s):
    s.stop_recorder()


@fault("does not answer: munge", what="munged is down")
def _munge_down(s):
    s.fake("munge", "echo 'munge: Error: Failed to access socket' >&2; exit 6")


@fault("does not answer: Unable", what="slurmctld is down")
def _slurmctld_down(s):
    s.fake("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1")


line_fault("TextfileGroup=nosuchgroup", "no group 'nosuchgroup'", mended=False)
line_fault("Country=UK", "already set")


# --- no proposed command breaks a system

SYSTEM = ["/", "/bin", "/boot", "/dev", "/dev/shm", "/etc", "/etc/slurm", "/home", "/home/alice", "/lib", "/lib64", "/media", "/mnt",
          "/opt", "/proc", "/root", "/run", "/run/lock", "/sbin", "/srv", "/sys", "/sys/kernel", "/tmp", "/usr", "/usr/bin",
          "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/share", "/var", "/var/cache", "/var/lib", "/var/lib/dpkg", "/var/lib/misc",
          "/var/log", "/var/mail", "/var/spool", "/var/spool/cron", "/var/tmp"]
FOLDERS = ["InboxDir", "StoreDir", "LedgerDir", "TextfileDir", "TraceDir", "ProfileDir", "BpfDir", "HelperDir", "ProfilePushDir"]
FILES = ["RecordFile", "SqliteFile", "KafkaConf", "MariadbDefaultsFile", "OtlpHeaders", "ProfilePushHeaders"]
TREES = ("/etc/", "/usr/", "/bin/", "/sbin/", "/lib", "/proc/", "/sys/", "/dev/", "/home/", "/root/")
CONFIGURATIONS = 1000
NAMES = ["", "/", "/x", "/x/y", "/../lib", "/.", "//", "/link"]


def is_harmful(site, hint):
    """Whether HINT, a command, changes the owner or mode of a system folder, deletes it, or goes through a foreign tree."""
    words = hint.replace("made by: ", ";").replace("&&", ";").split(";")
    for command in words:
        if not HARMFUL.search(command):
            continue
        for word in command.split()[1:]:
            if not word.startswith("/"):
                continue
            real = os.path.realpath(word)
            if not os.path.exists(real):  # the command makes it
                if real.startswith(TREES):
                    return True
                continue
            if real in [os.path.realpath(name) for name in SYSTEM] or (os.path.isdir(real) and real.count("/") < 2):
                return True
            own = "ceems" in real or real.startswith(site.path(""))
            if " -R" in command and not own:
                return True
            if real.startswith(TREES):
                return True
    return False


def next_random(state):
    state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % 2**64
    return state[0] >> 33


def pick(state, values):
    return values[next_random(state) % len(values)]


def test_harmless(site):
    state = [20261129]
    seen, hints, wrong = 0, set(), []
    site.good()
    text = site.read("etc/ceems.conf")
    keep = [line for line in text.splitlines() if line.split("=")[0] not in FOLDERS + FILES + ["Sinks"]]
    os.symlink("/var/lib", site.path("ceems-link"))
    bases = SYSTEM + [site.path("ceems-link"), site.path("run"), site.path("log")]
    while seen < CONFIGURATIONS:
        lines = [f"{key}={pick(state, bases)}{pick(state, NAMES)}" for key in FOLDERS + FILES]
        lines.append("Sinks=" + pick(state, ["file", "file,sqlite", "kafka,file", "mariadb", "otlp"]))
        lines += ["OtlpUrl=https://127.0.0.1:1", "ProfilePushUrl=https://127.0.0.1:1", "SysRoot=" + site.path("run")]
        site.write("etc/ceems.conf", "\n".join(keep + lines) + "\n")
        # each line is a configuration of its own: a key and a path that nobody should give away
        seen += len(FOLDERS + FILES)
        for f in site.check():
            if f["hint"]:
                hints.add(f["hint"])
            if f["hint"] and is_harmful(site, f["hint"]):
                wrong.append(f"{f['what']}: {f['text']}\n  -> {f['hint']}")
    ok(not wrong, f"{seen} generated paths, {len(hints)} different hints: none changes or deletes what is not ours",
       "\n".join(sorted(set(wrong))[:20]))
    ok(len(hints) > 50, "and there was advice", str(len(hints)))


def test_machine(site):
    """Which machine this is, and which slurm.conf."""

    def machine():
        return " ".join(f["text"] for f in site.check() if f["what"] == "machine")

    site.good()
    ok("a controller (SlurmctldHost=" in machine() and "the compute node n1" in machine(), "a controller that is a node, too", machine())
    for name in ["localhost", host + ".example.org", f"{host}(10.9.8.7)"]:
        site.slurm("SlurmctldHost", name)
        ok("a controller" in machine(), f"SlurmctldHost={name} is this machine", machine())
    site.slurm("SlurmctldHost", "other")
    ok("the compute node n1" in machine() and "not a controller (SlurmctldHost=other in " in machine(), "a node", machine())
    findings = site.check()
    ok(any("n1.ledger" in f["text"] for f in findings), "its node name is that of NodeHostname")
    site.slurm("NodeName", "n[1-2] NodeHostname=x[1-2]")
    ok("a login node" in machine(), "none of both", machine())
    site.slurm("NodeName", f"a,r[1-2]n[08-11] NodeHostname=b,x[1-5],{host},x[7-8]")
    ok("the compute node r2n09 " in machine() or "the compute node r2n08 " in machine(), "the node in a list", machine())
    os.remove(site.path("etc/slurm.conf"))
    found = [f for f in site.check() if f["what"] == "slurm.conf"]
    ok(found and found[0]["level"] == "warn" and "SLURM_CONF=" in found[0]["hint"] and "--with-slurm-sysconfdir" in found[0]["hint"],
       "no slurm.conf: a warning with two cures", str(found))


def test_fault(site, what, part, mended, level, make, before):
    site.good()
    make(site)
    found = {key: f for key, f in bad(site.check()).items() if key not in before}
    text = "\n".join(f"{f['level']} {f['what']}: {f['text']}\n  -> {f['hint']}" for f in found.values())
    hit = [f for f in found.values() if part in f["text"] and (level == "warn" or f["level"] == "error")]
    ok(bool(hit), f"{what}: found", f"no {level} with {part!r} in:\n{text}")
    ok(not any(f["hint"] and is_harmful(site, f["hint"]) for f in found.values()), "  no advice does harm", text)
    if not mended:
        return False
    left = found
    for _ in range(3):
        if not left or not type_advice(site, left.values()):
            break
        left = {key: f for key, f in bad(site.check()).items() if key not in before}
    ok(not left, "  the advice, typed, mends it",
       text + "\nleft:\n" + "\n".join(f"{f['what']}: {f['text']}\n  -> {f['hint']}" for f in left.values()))
    return not left


def main():
    for name in ["/var/log", "/var/lib", "/var/spool", "/root"]:
        mode = os.stat(name).st_mode & 0o7777
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode={mode:o}", "none", name], check=True)
    os.chmod("/root", 0o700)
    has_bpf = subprocess.run(["mount", "-t", "bpf", "none", "/sys/fs/bpf"], stderr=subprocess.DEVNULL).returncode == 0
    if not has_bpf or not os.path.exists("/sys/kernel/btf/vmlinux"):
        FAULTS[:] = [f for f in FAULTS if f[4] is not _bpf_denied]
    site = Site()
    try:
        site.good()
        before = bad(site.check())
        ok(not [f for f in before.values() if f["level"] == "error"], "the site without a fault has no error",
           "\n".join(f["text"] for f in before.values()))
        modes = {name: (os.stat(name).st_uid, os.stat(name).st_mode) for name in SYSTEM if os.path.isdir(name)}
        only = os.environ.get("FAULT", "")
        mended = [test_fault(site, *f, before) for f in FAULTS if only in f[0]]
        if only == "harmless":
            test_harmless(site)
        if not only:
            ok(len(FAULTS) >= 65, f"{len(FAULTS)} faults")
            ok(sum(mended) >= 55, f"{sum(mended)} of them mended by typing the advice")
            test_machine(site)
            test_harmless(site)
        now = {name: (os.stat(name).st_uid, os.stat(name).st_mode) for name in modes}
        ok(now == modes, "owner and mode of the system's folders are as before")
    finally:
        site.stop_recorder()
        subprocess.run(["umount", "-l", site.path("")[:-1]], check=False)
        shutil.rmtree(site.dir, ignore_errors=True)
    print(f"1..{count}")
    sys.exit(failed > 0)


main()
