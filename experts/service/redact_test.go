package service

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipe/experts/service/servicetest"
)

// However a service spells a key, what surrounds it stays, and nothing of eight
// letters or more is left of it.
func TestNoSpellingOfAKeyIsShown(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/+=.&\"<%:!"
	rapid.Check(t, func(t *rapid.T) {
		k := string(rapid.SliceOfN(rapid.SampledFrom([]byte(letters)), 16, 120).Draw(t, "key"))
		for name, spell := range servicetest.Spellings {
			if strings.HasPrefix(name, "its ") && strings.ContainsAny(k, "%&") {
				continue // a piece that is shorter than it looks
			}
			text := spell(k)
			if got := Secret(k).Redact("é" + text + "é"); !strings.HasPrefix(got, "é") || !strings.HasSuffix(got, "é") || strings.Count(got, "[key]") != 1 || len(got) > len("é[key]é")+24 {
				t.Fatalf("%s: %q is shown as %q", name, text, got)
			}
		}
	})
}

// A password with the sign that escapes others is hidden as it is and as JSON has it.
func TestPasswordsWithBackslashes(t *testing.T) {
	const k = `correct\horse\u0041\battery\n`
	for _, name := range []string{"as it is", "upper case", "as JSON", "as JSON in JSON", "base64, user", "as a URL", "as HTML"} {
		if got := Secret(k).Redact(servicetest.Spellings[name](k)); !strings.Contains(got, "[key]") || len(got) > len("[key]")+20 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Text without a key stays as it is, to the byte.
func TestTextWithoutAKeyStays(t *testing.T) {
	for _, text := range []string{"", "SUPPORTS", "50% of \\n all &amp; &#65; \\u0041 %41 \xff\xfe", "sk-test", strings.Repeat("word ", 1000)} {
		if got := Secret(servicetest.Key).Redact(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// A long answer and a long key take no long time.
func TestHidingIsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time, of which the race detector takes more")
	}
	draw := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + draw.IntN(90))
		}
		return string(b)
	}
	begin := time.Now()
	_ = Secret(letters(4096)).RedactAnswer(letters(8 << 20))
	_ = Secret(strings.Repeat("a", 200)).Redact(strings.Repeat("a", 8<<20))
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("took %v", took)
	}
}
