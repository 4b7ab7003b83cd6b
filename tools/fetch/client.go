package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// byClient downloads one archive with the package client of the pin.
func byClient(ctx context.Context, p pin, into string) (string, error) {
	var cmd *exec.Cmd
	var err error
	if p.client == "npm" {
		cmd, err = npmCommand(ctx, p, into)
	} else {
		cmd, err = pipCommand(ctx, p, into)
	}
	if err != nil {
		return "", err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", p.client, err, lastLines(string(out), 3))
	}
	return onlyFile(into)
}

func npmCommand(ctx context.Context, p pin, into string) (*exec.Cmd, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm is not installed")
	}
	return exec.CommandContext(ctx, npm, "pack", p.name+"@"+p.ver, "--ignore-scripts", "--silent", "--pack-destination", into), nil
}

func pipCommand(ctx context.Context, p pin, into string) (*exec.Cmd, error) {
	args := []string{
		"download", "--quiet", "--no-deps", "--disable-pip-version-check", "--only-binary=:all:",
		"--python-version", wheelPython, "--implementation", "cp", "--abi", p.abi, "--platform", p.tag,
		"--dest", into, p.name + "==" + p.ver,
	}
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		if exec.CommandContext(ctx, pip[0], append(pip[1:], "--version")...).Run() == nil {
			return exec.CommandContext(ctx, pip[0], append(pip[1:], args...)...), nil
		}
	}
	return nil, errors.New("pip is not installed")
}

func onlyFile(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("expected one archive, got %d files", len(entries))
	}
	return filepath.Join(dir, entries[0].Name()), nil
}

// lastLines keeps the end of a package client's output, which has the reason.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
