// Command flink runs another program beside a Flink session cluster of its own, and stops the cluster when the program ends.
// Cluster and program live in network and process namespaces of their own: nobody else reaches them, and no process is left over.
//
// Usage:
//
//	go run ./tools/flink fetch               # downloads the jars into third_party/flink
//	go run ./tools/flink alone COMMAND...    # runs COMMAND in such namespaces, without a cluster
//	go run ./tools/flink run COMMAND...      # the same beside a cluster with two TaskManagers; the job server is localhost:18099
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"pipe/tools/flink/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || len(os.Args) < 3 && os.Args[1] != "fetch" {
		fmt.Fprintln(os.Stderr, "usage: flink fetch | flink alone COMMAND... | flink run COMMAND...")
		os.Exit(2)
	}
	err := command(ctx, os.Args[1], os.Args[2:])
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(ended.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flink: error:", err)
		if h, ok := err.(interface{ Hint() string }); ok {
			fmt.Fprintln(os.Stderr, "flink: hint:", h.Hint())
		}
		os.Exit(1)
	}
}

func command(ctx context.Context, name string, args []string) error {
	jars, err := filepath.Abs("third_party/flink")
	if err != nil {
		return err
	}
	switch name {
	case "fetch":
		return cluster.Fetch(ctx, jars, os.Stderr)
	case "alone":
		return inside(append([]string{"loopback"}, args...)...)
	case "run":
		if err := cluster.Fetch(ctx, jars, os.Stderr); err != nil {
			return err
		}
		return inside(append([]string{"cluster"}, args...)...)
	case "loopback": // within the namespaces, as is the next
		return loopback(args)
	case "cluster":
		return beside(ctx, jars, args)
	}
	return fmt.Errorf("no command %q: known are fetch, alone, run", name)
}

// inside runs this program again as the first process of new namespaces. When it ends, all others there are killed.
func inside(args ...string) error {
	if err := cluster.Tools(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return run(exec.Command("unshare", append([]string{"-rn", "-pf", "--mount-proc", "--kill-child", self}, args...)...))
}

// loopback starts the loopback device and runs a program.
func loopback(args []string) error {
	if err := run(exec.Command("ip", "link", "set", "lo", "up")); err != nil {
		return fmt.Errorf("start the loopback device: %w", err)
	}
	return run(exec.Command(args[0], args[1:]...))
}

// beside runs a program beside a cluster.
func beside(ctx context.Context, jars string, args []string) error {
	if err := run(exec.Command("ip", "link", "set", "lo", "up")); err != nil {
		return fmt.Errorf("start the loopback device: %w", err)
	}
	folder, err := os.MkdirTemp("", "flink-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	c, err := cluster.Start(ctx, cluster.Options{Jars: jars, Folder: folder, TaskManagers: 2})
	if err != nil {
		return err
	}
	defer c.Stop()
	return run(exec.Command(args[0], args[1:]...))
}

func run(c *exec.Cmd) error {
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}
