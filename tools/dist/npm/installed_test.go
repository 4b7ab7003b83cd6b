package npm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pipe/internal/judge"
)

// npm runs npm in a folder as on a new machine: with an empty home and cache. It returns the standard output.
func npm(t testing.TB, folder string, args ...string) []byte {
	t.Helper()
	out, err := tryNpm(t, folder, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryNpm(t testing.TB, folder string, args ...string) ([]byte, error) {
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), "npm", args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "HOME="+home, "NPM_CONFIG_CACHE="+filepath.Join(home, "cache"), "NPM_CONFIG_UPDATE_NOTIFIER=false")
	if own, err := os.UserHomeDir(); err == nil && os.Getenv("NPM_CONFIG_USERCONFIG") == "" { // it says where packages come from
		c.Env = append(c.Env, "NPM_CONFIG_USERCONFIG="+filepath.Join(own, ".npmrc"))
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Logf("npm %v: %s", args, errs.String())
	}
	return out, err
}

// installed is a folder in which npm has installed the package, with what it depends on. The runtimes and the compiler of
// TypeScript are links to those that make verify installs, because they are large. Programs of testdata are beside it.
func installed(t testing.TB) string {
	t.Helper()
	links := map[string]string{}
	for _, module := range []string{"onnxruntime-node", "onnxruntime-web", "onnxruntime-common", "typescript"} {
		links[module] = judge.NodeModules(t, module)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "pipe-defer.tgz"), written(t, input(t)), 0o666); err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(folder, "package.json"), `{"private": true, "type": "module"}`)
	if _, err := tryNpm(t, folder, "install", "--no-audit", "--no-fund", "./pipe-defer.tgz"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("npm cannot install the package, which needs @huggingface/tokenizers: ", err)
	}
	for module, from := range links {
		if err := os.Symlink(filepath.Join(from, module), filepath.Join(folder, "node_modules", module)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(folder, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// node runs a program of the folder and returns what it printed.
func node(t testing.TB, folder, program string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), "node", append([]string{program}, args...)...)
	c.Dir = folder
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, out, errs.String())
	}
	return out
}
