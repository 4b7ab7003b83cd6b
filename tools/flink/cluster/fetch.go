package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed files
var files embed.FS

// MissingToolError says which program of Java the machine lacks.
type MissingToolError struct{ Tool string }

func (e *MissingToolError) Error() string { return "no program " + e.Tool + " on this machine" }

// Hint says how to get it.
func (e *MissingToolError) Hint() string {
	return "install a JDK, version 11 or 17, and Maven: apt-get install openjdk-17-jdk-headless maven"
}

// Tools returns an error if Java's compiler, Maven or unshare is not there.
func Tools() error {
	for _, tool := range []string{"java", "mvn", "unshare", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &MissingToolError{tool}
		}
	}
	modules, err := exec.Command("java", "--list-modules").Output()
	if err != nil || !bytes.Contains(modules, []byte("jdk.compiler@")) {
		return &MissingToolError{"javac"}
	}
	return nil
}

// Fetch has Maven put the jars of Flink and of Beam's job server into folder, and checks each of them against its pinned
// SHA-256. A folder that is complete is left as it is.
func Fetch(ctx context.Context, folder string, log io.Writer) error {
	if check(folder) == nil {
		return nil
	}
	if err := Tools(); err != nil {
		return err
	}
	fmt.Fprintln(log, "flink: Maven downloads Flink and Beam's job server, 152 MB")
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), ".flink-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	pom, err := files.ReadFile("files/pom.xml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), pom, 0o644); err != nil {
		return err
	}
	jars := filepath.Join(work, "jars")
	maven := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory="+jars)
	maven.Dir, maven.Stdout, maven.Stderr = work, log, log
	if err := maven.Run(); err != nil {
		return fmt.Errorf("download jars with Maven: %w", err)
	}
	if err := check(jars); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(jars, folder)
}

// check compares the jars of folder with their checksums. Others must not be there: Java would load them too.
func check(folder string) error {
	list, err := files.ReadFile("files/jars.sha256")
	if err != nil {
		return err
	}
	var errs []error
	wanted := 0
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); wanted++ {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		errs = append(errs, checkFile(filepath.Join(folder, name), sum))
	}
	there, err := filepath.Glob(filepath.Join(folder, "*"))
	if err == nil && len(there) != wanted {
		err = fmt.Errorf("%s has %d jars, not %d", folder, len(there), wanted)
	}
	return errors.Join(append(errs, err)...)
}

func checkFile(path, sum string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("%s has the SHA-256 %s, not %s", path, got, sum)
	}
	return nil
}
