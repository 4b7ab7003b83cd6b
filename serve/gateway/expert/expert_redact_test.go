package expert

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"pipe/experts/service/servicetest"
	"pipe/serve/gateway/gatewaytest"
)

// hiderOf hides some keys.
func hiderOf(keys ...string) *redactor {
	h := new(redactor)
	for _, k := range keys {
		h.add(k)
	}
	return h
}

// quoted is a text that is encoded as JSON a number of times, without the quotes around it.
func quoted(text string, times int) string {
	for range times {
		b, _ := json.Marshal(text)
		text = string(b[1 : len(b)-1])
	}
	return text
}

// escaped spells the bytes of an ASCII text from a position on in steps as \u.
func escaped(text string, from, step int, format string) string {
	var b strings.Builder
	for i := range len(text) {
		if i >= from && (i-from)%step == 0 {
			fmt.Fprintf(&b, format, text[i])
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// TestKeysInEscapes: a key is hidden however JSON spells it, also within JSON, and the text around it keeps its bytes.
func TestKeysInEscapes(t *testing.T) {
	keys := []string{servicetest.Key, `a/b+c"d\e\n<f>&g`, "ключ-é-😀-key"}
	h := hiderOf(keys...)
	for _, k := range keys {
		spellings := []string{k, strings.ReplaceAll(quoted(k, 1), "/", `\/`)}
		for times := 1; times <= maxEscapeLayers; times++ {
			spellings = append(spellings, quoted(k, times))
		}
		if k == servicetest.Key {
			for _, format := range []string{`\u%04x`, `\u%04X`, `\\u%04x`, `\\\\u%04x`} {
				spellings = append(spellings, escaped(k, 0, 1, format), escaped(k, len(k)-1, 1, format), escaped(k, 1, 3, format))
			}
		}
		if strings.HasPrefix(k, "ключ") {
			spellings = append(spellings, `\u043a\u043b\u044e\u0447-\u00e9-\ud83d\ude00-key`, `ключ-é-\uD83D\uDE00-key`, `\\u043aлюч-é-😀-key`)
		}
		for _, s := range spellings {
			text := `{"choices":[{"message":{"content":"a \"b\"\n` + s + `\\ \u00e9"}}]}`
			want := `{"choices":[{"message":{"content":"a \"b\"\n[key]\\ \u00e9"}}]}`
			if got := string(h.redact([]byte(text))); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", s, got, want)
			}
		}
	}
	twice := escaped(servicetest.Key, 0, 2, `\u%04x`) + " " + escaped(servicetest.Key, 1, 2, `\u%04x`) + servicetest.Key
	if got := string(h.redact([]byte(twice))); got != "[key] [key][key]" {
		t.Errorf("got %s", got)
	}
}

// Answers without the key keep every byte, whatever their escapes.
func TestAnswersWithoutKeysAreNotTouched(t *testing.T) {
	h := hiderOf(servicetest.Key, `a\b"c/d`)
	for _, text := range []string{
		``, `\`, `\u`, `\u00`, `\u00zz`, `\ud83d`, `\ud83d\u0041`, `\\\`, strings.Repeat(`\`, 999), `{"a":"\u0073\u006b-test and \/ \" \\ \\u0073"}`,
		escaped(servicetest.Key[:len(servicetest.Key)-1], 0, 1, `\u%04x`), escaped(servicetest.Key, 0, 1, `\u%04x`)[1:], gatewaytest.Completion("m", `say "\n" or 漢字`),
		quoted(quoted(`{"path":"c:\\new\\table","q":"\"x\""}`, 1), 1),
	} {
		if got := string(h.redact([]byte(text))); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func FuzzHider(f *testing.F) {
	f.Add([]byte(`{"a":"\u0073k\\u002d\ud83d\ude00"}`), "sk-😀", uint8(1))
	f.Add([]byte(`\\\\`), `\`, uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, key string, times uint8) {
		if key == "" || !utf8.ValidString(key) || strings.ContainsAny(key, "\n\r\b\f") || strings.Contains("x [key] y", key) {
			return
		}
		h := hiderOf(key)
		h.redact(text) // ends, and does not panic
		b, _ := json.Marshal("x " + key + " y")
		var out string
		if err := json.Unmarshal(h.redact(b), &out); err == nil && strings.Contains(out, key) {
			t.Errorf("%q in %q", key, out)
		}
	})
}

// A service that spells its key does not get it through in a whole answer, in an event, or as the name of its model.
func TestSpeltKeysDoNotComeBack(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	spelt := escaped(servicetest.Key, 0, 1, `\u%04x`)
	for _, stream := range []bool{false, true} {
		f := gatewaytest.New(t)
		f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, `data: {"model":"`+spelt+`","choices":[{"delta":{"content":"`+spelt+`"},"finish_reason":"stop"}]}`+"\n\n")
				return true
			}
			io.WriteString(w, `{"model":"`+spelt+`","choices":[{"message":{"content":"`+spelt+`"}}]}`)
			return true
		}
		s, fields := settings(f.Base()), ""
		s.Key = servicetest.KeyVariable
		if stream {
			fields = `,"stream":true`
		}
		a, err := open(t, s, DefaultBreaker()).Call(t.Context(), request(t, fields), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, model := string(a.Body), a.Model
		if stream {
			body, _ = readStream(a.Stream)
			model = a.Model + a.Stream.End().Model
			a.Stream.Close()
		}
		if strings.Contains(body, spelt) || !strings.Contains(body, `"content":"[key]"`) || strings.Contains(model, servicetest.Key) || !strings.Contains(model, "[key]") {
			t.Errorf("stream %v: %s, model %q", stream, body, model)
		}
	}
}

// BenchmarkClean measures what looking for keys costs on ordinary answers.
func BenchmarkClean(b *testing.B) {
	for name, word := range map[string]string{"plain": "It is a test of words. ", "lines": `some \"code\" {\n\t}\n`, "alphabet": `\u6f22\u5b57`, "slashes": `https:\/\/a.b\/`} {
		b.Run(name, func(b *testing.B) {
			h, text := hiderOf(servicetest.Key, "another-secret-of-a-header"), []byte(strings.Repeat(word, 4096/len(word)))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				h.redact(text)
			}
		})
	}
}
