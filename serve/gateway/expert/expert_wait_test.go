package expert

import (
	"net/http"
	"strings"
	"testing"
)

func TestWaits(t *testing.T) {
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	for after, want := range map[string]string{
		"7": "7", "0.5": "1", "Fri, 02 Jan 2026 03:05:05 GMT": "60", "Fri, 31 Dec 9999 23:59:59 GMT": "3600", "1" + strings.Repeat("0", 400): "3600",
		"": "", "0": "", "-1": "", "soon": "", "Fri, 02 Jan 2026 03:04:00 GMT": "",
	} {
		if got := retryAfter(http.Header{"Retry-After": {after}, "Date": {date}}); got != want {
			t.Errorf("%q: got %q, want %q", after, got, want)
		}
	}
}
