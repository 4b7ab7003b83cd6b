package npm

import (
	"strings"
	"testing"
)

// checkTypes: the compiler of TypeScript accepts program.ts with all its checks, and the program that it makes runs. The lines of the
// program that are errors are marked as such, so that the compiler also complains where it finds none.
func checkTypes(t *testing.T, folder string) {
	node(t, folder, "node_modules/typescript/bin/tsc", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022", "--lib", "es2022,dom",
		"--module", "nodenext", "program.ts")
	out := string(node(t, folder, "program.js", folder+"/cases.json"))
	if want := "decided 200 rows"; !strings.HasPrefix(out, want) {
		t.Errorf("the program says %q, not %q", out, want)
	}
}
