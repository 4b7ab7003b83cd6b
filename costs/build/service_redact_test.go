package build

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// waysToSpell are ways in which a service may give a key back.
var waysToSpell = map[string]func(string) string{
	"as it is":          func(k string) string { return k },
	"upper case":        strings.ToUpper,
	"lower case":        strings.ToLower,
	"base64":            func(k string) string { return base64.StdEncoding.EncodeToString([]byte(k)) },
	"base64, raw":       func(k string) string { return base64.RawStdEncoding.EncodeToString([]byte(k)) },
	"base64, of URLs":   func(k string) string { return base64.URLEncoding.EncodeToString([]byte(k)) },
	"base64, user":      func(k string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + k)) },
	"base64, Bearer":    func(k string) string { return base64.RawURLEncoding.EncodeToString([]byte("Bearer " + k + "\n")) },
	"base64 in a URL":   func(k string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("a:" + k))) },
	"base64 in lines":   func(k string) string { return lines(base64.StdEncoding.EncodeToString([]byte("xy:"+k)), 19) },
	"hexadecimal":       func(k string) string { return hex.EncodeToString([]byte(k)) },
	"hexadecimal, caps": func(k string) string { return strings.ToUpper(hex.EncodeToString([]byte(k))) },
	"backwards":         func(k string) string { b := []byte(k); slices.Reverse(b); return string(b) },
	"as a URL":          url.QueryEscape,
	"every byte of it":  func(k string) string { return each(k, "%%%02X") },
	"twice":             func(k string) string { return url.QueryEscape(each(k, "%%%02x")) },
	"as JSON":           func(k string) string { b, _ := json.Marshal(k); return string(b) },
	"as JSON in JSON":   func(k string) string { b, _ := json.Marshal(k); b, _ = json.Marshal(string(b)); return string(b) },
	"as \\u":            func(k string) string { return each(k, "\\u%04x") },
	"as \\U in JSON":    func(k string) string { return each(k, "\\\\u%04X") },
	"as HTML":           html.EscapeString,
	"as numbers":        func(k string) string { return each(k, "&#%d;") },
	"as hex numbers":    func(k string) string { return each(k, "&#x%x;") },
	"in words":          func(k string) string { return lines(k, 5) },
	"its beginning":     func(k string) string { return k[:8] + "..." },
	"its end":           func(k string) string { return "..." + strings.ToUpper(k[len(k)-8:]) },
}

func each(k, format string) string {
	var b strings.Builder
	for i := range len(k) {
		fmt.Fprintf(&b, format, k[i])
	}
	return b.String()
}

func lines(text string, width int) string {
	var b strings.Builder
	for i := 0; i < len(text); i += width {
		b.WriteString(text[i:min(i+width, len(text))] + "\r\n ")
	}
	return b.String()
}

// However a service spells a key, what surrounds it stays, and nothing of eight
// letters or more is left of it.
func TestNoSpellingOfAKeyIsShown(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/+=.&\"<%:!"
	rapid.Check(t, func(t *rapid.T) {
		k := string(rapid.SliceOfN(rapid.SampledFrom([]byte(letters)), 16, 120).Draw(t, "key"))
		for name, spell := range waysToSpell {
			if strings.HasPrefix(name, "its ") && strings.ContainsAny(k, "%&") {
				continue // a piece that is shorter than it looks
			}
			text := spell(k)
			if got := secret(k).hide("é" + text + "é"); !strings.HasPrefix(got, "é") || !strings.HasSuffix(got, "é") || strings.Count(got, "[key]") != 1 || len(got) > len("é[key]é")+24 {
				t.Fatalf("%s: %q is shown as %q", name, text, got)
			}
		}
	})
}

// A password with the sign that escapes others is hidden as it is and as JSON has it.
func TestPasswordsWithBackslashes(t *testing.T) {
	const k = `correct\horse\u0041\battery\n`
	for _, name := range []string{"as it is", "upper case", "as JSON", "as JSON in JSON", "base64, user", "as a URL", "as HTML"} {
		if got := secret(k).hide(waysToSpell[name](k)); !strings.Contains(got, "[key]") || len(got) > len("[key]")+20 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Text without a key stays as it is, to the byte.
func TestTextWithoutAKeyStays(t *testing.T) {
	for _, text := range []string{"", "SUPPORTS", "50% of \\n all &amp; &#65; \\u0041 %41 \xff\xfe", "sk-test", strings.Repeat("word ", 1000)} {
		if got := secret(testKey).hide(text); got != text {
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
	_ = secret(letters(4096)).hideIn(letters(maxAnswer))
	_ = secret(strings.Repeat("a", 200)).hide(strings.Repeat("a", maxAnswer))
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("took %v", took)
	}
}
