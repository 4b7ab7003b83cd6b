package build

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// EndpointError says why a service gave no answer. What it holds of the
// service's own words is short, and the key does not occur in it.
type EndpointError struct {
	URL    string
	Status int // of HTTP; 0: there was no usable answer
	Reason string
	Tries  int // 0: one, and no other was worth it
	hint   string

	again bool          // another attempt may do better
	after time.Duration // before which there should be none
}

// Error returns who was asked and what came of it.
func (e *EndpointError) Error() string {
	s := "ask " + e.URL + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("HTTP %d %s: ", e.Status, http.StatusText(e.Status))
	}
	s += e.Reason
	if e.Tries > 1 {
		s += fmt.Sprintf(" (after %d attempts)", e.Tries)
	}
	return s
}

// Hint tells what to change.
func (e *EndpointError) Hint() string {
	if e.hint == "" && e.again {
		return "what is answered is kept: run the same command again when the service is well"
	}
	return e.hint
}

func (e *endpoint) fault(status int, format string, args ...any) *EndpointError {
	return &EndpointError{URL: e.url, Status: status, Reason: fmt.Sprintf(format, args...)}
}

func (e *EndpointError) advise(hint string) *EndpointError {
	e.hint = hint
	return e
}

func (e *EndpointError) retry(after time.Duration) *EndpointError {
	e.again, e.after = true, after
	return e
}

// maxAnswer bounds what is read of a response.
const maxAnswer = 8 << 20

// send sends a request once. billed says that a request which failed may have
// been paid for.
func (e *endpoint) send(ctx context.Context, key secret, c conversation, body []byte) (_ answer, billed bool, err error) {
	limited, cancel := context.WithTimeout(ctx, seconds(e.cfg.Timeout))
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "pipe")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+string(key))
	}
	response, err := e.client.Do(r)
	if err != nil {
		billed, err := e.broken(ctx, limited, key, err)
		return answer{}, billed, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if response.StatusCode != http.StatusOK {
		return answer{}, false, e.refused(response, key, text)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{}, true, ctx.Err()
	case limited.Err() != nil:
		return answer{}, true, e.fault(0, "the answer was not complete after %v s", e.cfg.Timeout).retry(0)
	case err != nil:
		return answer{}, true, e.fault(0, "the connection broke off within the answer: %s", key.hide(err.Error())).retry(0)
	case len(text) > maxAnswer:
		return answer{}, true, e.fault(0, "the answer is longer than %d MiB", maxAnswer>>20)
	}
	a, err := e.read(key, c, text)
	return a, err != nil, err
}

// broken judges a request that got no response.
func (e *endpoint) broken(ctx, limited context.Context, key secret, err error) (billed bool, _ error) {
	var certificate *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case limited.Err() != nil:
		return true, e.fault(0, "no answer within %v s", e.cfg.Timeout).retry(0)
	case errors.As(err, &certificate):
		return false, e.fault(0, "%s", key.hide(err.Error()))
	}
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err // the URL is said already
	}
	var dial *net.OpError
	sent := !errors.As(err, &dial) || dial.Op != "dial"
	return sent, e.fault(0, "%s", key.hide(err.Error())).retry(0)
}

// refused judges a response that is no answer.
func (e *endpoint) refused(r *http.Response, key secret, text []byte) error {
	code := r.StatusCode
	fault := e.fault(code, "%s", key.excerpt(text))
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if e.cfg.Key == "" {
			return fault.advise("the service wants a key: put it into an environment variable and name that in the setting key")
		}
		return fault.advise("the service does not accept the key in the environment variable " + e.cfg.Key)
	case code == http.StatusNotFound:
		return fault.advise("check base_url, which ends before /chat/completions, and whether the service has the model")
	case code >= 300 && code < 400:
		return fault.advise("the service points to another place, where nothing is sent: set base_url to it")
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests, code >= 500:
		after := retryAfter(r.Header.Get("Retry-After"), time.Now())
		if after > longestRest {
			return fault.advise(fmt.Sprintf("the service asks to be left alone for %v: what is answered is kept, run the same command again then", after.Round(time.Second)))
		}
		return fault.retry(after)
	}
	return fault.advise("check model, max_tokens, temperature and extra against what the service takes")
}

// longestRest is how long a build waits for a service that asks for patience.
const longestRest = time.Hour

// retryAfter reads the header of that name: seconds, or a date. What is neither,
// or lies in the past, is 0.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(header, 64); err == nil && s > 0 {
		return seconds(min(s, 1e9))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// chatResponse is what is read of a response of OpenAI's protocol.
type chatResponse struct {
	Choices []struct {
		Message *struct {
			Content *string `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

// read takes the answer out of a response.
func (e *endpoint) read(key secret, c conversation, text []byte) (answer, error) {
	var r chatResponse
	err := json.Unmarshal(text, &r)
	if isTruncated(text, err) {
		return answer{}, e.fault(0, "the answer ends early: %s", key.excerpt(text)).retry(0)
	}
	if err != nil || len(r.Choices) == 0 || r.Choices[0].Message == nil {
		return answer{}, e.fault(0, "the response is not that of a chat completion: %s", key.excerpt(text)).
			advise("check base_url: it may be that of a web page, a proxy or another protocol")
	}
	var a answer
	if content := r.Choices[0].Message.Content; content != nil { // null where a model refuses, or only thought
		a.Text = key.hideIn(*content)
	}
	if u := r.Usage; u != nil && u.Prompt >= 0 && u.Completion >= 0 && u.Prompt+u.Completion > 0 {
		a.PromptTokens, a.CompletionTokens = u.Prompt, u.Completion
		return a, nil
	}
	a.Estimated = true
	a.PromptTokens = c.characters()/charactersPerToken + 1
	a.CompletionTokens = len([]rune(a.Text))/charactersPerToken + 1
	return a, nil
}

// isTruncated tells JSON that breaks off from text that is no JSON.
func isTruncated(text []byte, err error) bool {
	var syntax *json.SyntaxError
	begins := bytes.TrimSpace(text)
	return len(begins) == 0 || begins[0] == '{' && errors.As(err, &syntax) && syntax.Offset >= int64(len(text))
}

// secret is a key. Its text goes into one header and nowhere else.
type secret string

// String keeps a key out of whatever is printed.
func (secret) String() string { return "[key]" }

// GoString keeps a key out of whatever is printed.
func (secret) GoString() string { return "[key]" }

// excerpt returns the beginning of a response, fit for one line of an error.
func (k secret) excerpt(text []byte) string {
	const read, most = 4096, 200
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, k.hide(strings.ToValidUTF8(string(text[:min(read, len(text))]), "")))
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "..."
	}
	if line == "" {
		return "the response is empty"
	}
	return line
}

// hide replaces the key, and every piece of it of eight bytes or more.
func (k secret) hide(text string) string { return k.replace(text, 8) }

// hideIn replaces the key in an answer, whose words may look like a piece of one.
func (k secret) hideIn(text string) string {
	if len(k) < 8 {
		return text
	}
	return k.replace(text, 16)
}

// replace puts [key] where the text has a piece of the key of at least so many
// bytes, or the whole of a shorter key.
func (k secret) replace(text string, piece int) string {
	piece = min(piece, len(k))
	if piece == 0 {
		return text
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		end := at
		for next := at + piece; next <= len(text) && strings.Contains(string(k), text[at:next]); next++ {
			end = next
		}
		if end == at {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString("[key]")
		at = end
	}
	return out.String()
}
