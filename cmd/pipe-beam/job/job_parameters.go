package job

import (
	"bytes"
	"encoding/json"

	"pipe/internal/storage"
)

// withParameters gives the URLs in the options of a stage the parameters of the stores that they are in: the JSON form of a
// location has none.
func withParameters(options []byte, stores []storage.Location) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(options))
	d.UseNumber() // seeds have 64 bits
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(completed(tree, stores))
}

func completed(tree any, stores []storage.Location) any {
	switch v := tree.(type) {
	case string:
		at, err := storage.Parse(v)
		if err != nil || !at.IsRemote() {
			return v
		}
		for _, store := range stores {
			at = at.With(store)
		}
		return at.URL()
	case []any:
		for i := range v {
			v[i] = completed(v[i], stores)
		}
	case map[string]any:
		for name := range v {
			v[name] = completed(v[name], stores)
		}
	}
	return tree
}
