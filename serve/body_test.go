package serve

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/serve/gateway/gatewaytest"
)

// TestByteOrderMark checks that every body of JSON may begin with a byte order mark, and with no second one.
func TestByteOrderMark(t *testing.T) {
	service, folder := gatewaytest.New(t), t.TempDir()
	r := start(t, func(c *Config) {
		read, err := Load(gatewayFile(t, folder, service.Base(), "model-1", "first-key-0123456789"))
		if err != nil {
			t.Fatal(err)
		}
		c.Gateway, c.Log.Folder = read.Gateway, config.Path(filepath.Join(folder, "log"))
	}, nil)
	const mark = "\ufeff"
	tensor := `{"inputs":[{"name":"features","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`
	_, _, decided := r.do(t, "POST", "/v1/decide", `{"features":[[1,2,3,4]]}`, "Content-Type", "application/json")
	_, id, _ := strings.Cut(decided, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	for _, c := range []struct{ path, body, header, value string }{
		{"/v1/decide", `{"features":[[1,2,3,4]]}`, "Content-Type", "application/json"},
		{"/v1/decide", `{"features":[[1,2,3,4]],"prices":{"lambda":1}}`, "Content-Type", "application/json"},
		{"/v1/outcomes", `{"id":"` + id + `","loss":1}`, "Content-Type", "application/json"},
		{"/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":"x"}]}`, "Content-Type", "application/json"},
		{"/v2/models/policy/infer", tensor, "Content-Type", "application/json"},
		{"/v2/models/policy/infer", tensor, "Inference-Header-Content-Length", strconv.Itoa(len(mark + tensor))},
	} {
		if code, _, body := r.do(t, "POST", c.path, mark+c.body, c.header, c.value); code != 200 {
			t.Errorf("%s with a mark: %d %s", c.path, code, body)
		}
		if code, _, body := r.do(t, "POST", c.path, mark+mark+c.body, c.header, c.value); code != 400 {
			t.Errorf("%s with two marks: %d %s", c.path, code, body)
		}
	}
}
