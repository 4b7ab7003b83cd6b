package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// release is what is released.
type release struct {
	module  string // path of the module
	version string // a semantic version
	commit  string
	time    time.Time // of the commit, or SOURCE_DATE_EPOCH: that of all files
}

// thisRelease reads the version from the tag of the commit, such as v1.2.3. Without a tag it is 0.0.0-dev.COUNT, with the number of
// commits.
func thisRelease(ctx context.Context) (r release, err error) {
	if r.commit, err = output(ctx, "git", "rev-parse", "HEAD"); err != nil {
		return r, err
	}
	changed, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return r, err
	}
	if tag, err := output(ctx, "git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		if r.version = strings.TrimPrefix(tag, "v"); changed != "" {
			return r, fmt.Errorf("files are not as in %s: commit them, or check it out again\n%s", tag, changed)
		}
	} else {
		count, err := output(ctx, "git", "rev-list", "--count", "HEAD")
		if err != nil {
			return r, err
		}
		if r.version = "0.0.0-dev." + count; changed != "" {
			r.commit += "-changed"
		}
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
			return r, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return r, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(n, 0).UTC()
	r.module, err = output(ctx, "env", "GOWORK=off", "go", "list", "-m")
	return r, err
}

// output runs a command and returns what it prints, without the last line's end.
func output(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	text, err := c.Output()
	if err != nil {
		if failed, ok := err.(*exec.ExitError); ok && len(failed.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// do runs a command in a folder, with more variables. What it prints goes to standard error.
func do(ctx context.Context, folder string, env []string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = folder, append(os.Environ(), env...), os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
