package hf

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// configFile is where a model's folder says what the model is.
const configFile = "config.json"

// Config is what config.json says about any model, its towers included.
type Config struct {
	ModelType    string  `json:"model_type"` // the architecture
	Towers       []Tower `json:"-"`          // by name; empty: there is one, an encoder of texts
	VocabSize    int64   `json:"vocab_size"`
	MaxPositions int64   `json:"max_position_embeddings"` // most tokens of a text
	PadID        int64   `json:"pad_token_id"`
	End          int64   `json:"-"`          // id of the token whose place a text's vector is taken from: NoEnd, LargestEnd or an id
	ImageSize    int64   `json:"image_size"` // side of the images of the encoder of images; 0: none, or not told
}

// What Config.End says instead of an id.
const (
	NoEnd      = -1 // texts need no token at their end
	LargestEnd = -2 // the end is the largest id of a text
)

// Has reports whether the model has a tower of that name.
func (c *Config) Has(t Tower) bool { return slices.Contains(c.Towers, t) }

// readConfig is ReadConfig of a model with one tower, with the positions as the
// file has them.
func readConfig(folder string) (*Config, error) {
	c := &Config{PadID: 1, End: NoEnd} // what architectures that use it take by default
	if err := readJSON(folder, configFile, c); err != nil {
		return nil, err
	}
	return c, nil
}

// readJSON reads a file of a model's folder. Fields that v lacks are passed over:
// files of newer versions have more.
func readJSON(folder, name string, v any) error {
	path := filepath.Join(folder, name)
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if err != nil {
		return fmt.Errorf("read model: %w", err)
	}
	if err := strictjson.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read model: %q: %w", path, err)
	}
	return nil
}

// largest bounds the sizes of a configuration, so that products of them do not
// overflow; the largest models are far below.
const largest = 1 << 24

// checkSizes reports the sizes by name that are missing or absurd.
func checkSizes(sizes map[string]int64) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if n := sizes[name]; n < 1 || n > largest {
			problems = append(problems, fmt.Errorf("%s is %d", name, n))
		}
	}
	return errors.Join(problems...)
}
