package wheel

import (
	"fmt"
	"regexp"
	"strings"
)

var version = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:-(alpha|beta|rc|dev)(?:\.?(\d+))?)?(?:\+([0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*))?$`)

// The words of a version in Python by those of a semantic version.
var phases = map[string]string{"": "", "alpha": "a", "beta": "b", "rc": "rc", "dev": ".dev"}

// pythonVersion spells a semantic version as Python does: 1.2.3-rc.1 is 1.2.3rc1.
func pythonVersion(semantic string) (string, error) {
	m := version.FindStringSubmatch(semantic)
	if m == nil {
		return "", fmt.Errorf("version %q is not like 1.2.3, 1.2.3-rc.1 or 1.2.3-dev+abc; before the + only alpha, beta, rc and dev can follow", semantic)
	}
	number := m[3]
	if m[2] != "" && number == "" {
		number = "0"
	}
	local := ""
	if m[4] != "" {
		local = "+" + strings.ReplaceAll(m[4], "-", ".")
	}
	return m[1] + phases[m[2]] + number + local, nil
}
