package textfile

import "testing"

func TestFloatSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"100": "100.0", "100.0": "100", "-7": "-7.0", "-7.0": "-7", "0": "0.0", "9007199254740993": "9007199254740993.0",
		"": "", "-": "", ".0": "", "1.5": "", "1.00": "", "1.": "", "1.0.0": "", "a.0": "", "1e2": "", " 1": "", "v1": "", "１": "",
	} {
		if got := FloatSpelling(text); got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}
