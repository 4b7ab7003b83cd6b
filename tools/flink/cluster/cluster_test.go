package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A cluster would be open to a network, so it is refused where there is one.
func TestRefusesNetworks(t *testing.T) {
	if alone() == nil {
		t.Skip("this machine has the loopback device only")
	}
	folder := t.TempDir()
	if _, err := Start(t.Context(), Options{Jars: "none", Folder: folder}); err == nil || !strings.Contains(err.Error(), "tools/flink run") {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(folder); len(left) > 0 || err != nil {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// A jar that is missing, changed or not listed is an error that names it.
func TestJarsAreChecked(t *testing.T) {
	folder := t.TempDir()
	if err := check(folder); err == nil || !strings.Contains(err.Error(), "flink-core-1.19.0.jar") {
		t.Errorf("an empty folder: %v", err)
	}
	jar := filepath.Join(folder, "a.jar")
	if err := os.WriteFile(jar, []byte("a jar"), 0o666); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("a jar"))
	if err := checkFile(jar, hex.EncodeToString(sum[:])); err != nil {
		t.Error(err)
	}
	if err := checkFile(jar, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "a.jar") || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a changed jar: %v", err)
	}
	if err := check(folder); err == nil || !strings.Contains(err.Error(), "has 1 jars") {
		t.Errorf("a jar that is not listed: %v", err)
	}
}

// Without Java, or with one that lacks the compiler, nothing is downloaded, and the error says what to install.
func TestTools(t *testing.T) {
	programs := t.TempDir()
	t.Setenv("PATH", programs)
	folder := filepath.Join(t.TempDir(), "flink")
	missing := func(tool string) {
		t.Helper()
		var none *MissingToolError
		if err := Fetch(t.Context(), folder, io.Discard); !errors.As(err, &none) || none.Tool != tool || !strings.Contains(none.Hint(), "openjdk") {
			t.Errorf("without %s: %v", tool, err)
		}
	}
	program := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"java", "mvn", "unshare", "ip"} {
		missing(name)
		program(name, "")
	}
	missing("javac")
	program("java", "echo jdk.compiler@17")
	program("mvn", "exit 3")
	if err := Fetch(t.Context(), folder, io.Discard); err == nil || !strings.Contains(err.Error(), "Maven") {
		t.Errorf("Maven fails: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(folder)); len(left) > 0 || err != nil {
		t.Errorf("a failed download leaves %v, %v", left, err)
	}
}

// quietJava stands in for Java: it writes its arguments into its log, and runs a line of the shell.
func quietJava(t *testing.T, line string) Options {
	t.Helper()
	programs, folder := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "java"), []byte("#!/bin/sh\necho \"$@\"\n"+line+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	c := &Cluster{o: Options{Jars: "jars", Folder: folder, TaskManagers: 2}}
	if err := c.writeFiles(); err != nil {
		t.Fatal(err)
	}
	return c.o
}

// Processes are ended, those that do not listen too, and their logs say how they were started.
func TestProcesses(t *testing.T) {
	for name, line := range map[string]string{"ends": "exec sleep 100", "does not listen": "trap '' TERM; exec sleep 100"} {
		t.Run(name, func(t *testing.T) {
			o := quietJava(t, line)
			p, err := startJava(o, "manager", "-Xmx1m", "Main")
			if err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(o.Folder, "logs", "manager.log")
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if text, err := os.ReadFile(log); err == nil && strings.Contains(string(text), "-Xmx1m") && strings.Contains(string(text), "Main") {
					break
				}
			}
			if p.hasEnded() || p.memory() == 0 {
				t.Errorf("it ended: %v; memory %d", p.hasEnded(), p.memory())
			}
			p.end(200 * time.Millisecond)
			if !p.hasEnded() || p.err == nil {
				t.Errorf("it ended: %v, %v", p.hasEnded(), p.err)
			}
		})
	}
}

// A cluster one of whose processes ends is not waited for, and all others are ended.
func TestStartFails(t *testing.T) {
	o := quietJava(t, "exit 1")
	c := &Cluster{o: o, processes: map[string]*process{}}
	start := time.Now()
	err := c.start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if len(c.processes) != 4 || c.taskManagers() != 2 {
		t.Errorf("it started %d processes, %d TaskManagers", len(c.processes), c.taskManagers())
	}
	c.Stop()
	c.Stop()
	if len(c.processes) != 0 {
		t.Errorf("%d processes are left", len(c.processes))
	}
	if err := c.KillTaskManager(1); err == nil {
		t.Error("a TaskManager that does not run was killed")
	}
}

// Core time counts the process and its children that have ended, whatever its name is.
func TestCoreTime(t *testing.T) {
	const stat = "12 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1 0 5 6 7"
	if got := coreTimeOf(stat); got != 1270*time.Millisecond {
		t.Errorf("it is %v", got)
	}
	for _, strange := range []string{"", "12 (a) S 1", "12 (a) S 1 2 3 4 5 6 7 8 9 10 x 20 3 4"} {
		if got := coreTimeOf(strange); got != 0 {
			t.Errorf("%q: %v", strange, got)
		}
	}
}
