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

// configFile is the file that describes the model in a folder.
const configFile = "config.json"

// Config is the part of config.json that all models have, including their towers.
type Config struct {
	ModelType    string  `json:"model_type"` // the architecture
	Towers       []Tower `json:"-"`          // names; empty: there is one, an encoder of texts
	VocabSize    int64   `json:"vocab_size"`
	MaxPositions int64   `json:"max_position_embeddings"` // maximum number of tokens
	PadID        int64   `json:"pad_token_id"`
	End          int64   `json:"-"`          // id of the token at whose position the vector of a text is taken: NoEnd, LargestEnd or an id
	ImageSize    int64   `json:"image_size"` // side of the images of the encoder of images; 0: none or unknown
}

// Values of Config.End that are not ids.
const (
	NoEnd      = -1 // no end token is needed
	LargestEnd = -2 // the end token is the largest id in a text
)

// Has reports whether the model has a tower of that name.
func (c *Config) Has(t Tower) bool { return slices.Contains(c.Towers, t) }

// readConfig is ReadConfig for a model with one tower, with the positions as in the file.
func readConfig(folder string) (*Config, error) {
	c := &Config{PadID: 1, End: NoEnd} // the default of architectures that use it
	if err := readJSON(folder, configFile, c); err != nil {
		return nil, err
	}
	return c, nil
}

// readJSON reads a file of a model's folder. Fields that v lacks are ignored: files of newer versions have more.
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

// largest bounds the sizes in a configuration, so that their products do not overflow; the largest models are far below
// it.
const largest = 1 << 24

// checkSizes reports sizes that are missing or implausible, by name.
func checkSizes(sizes map[string]int64) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if n := sizes[name]; n < 1 || n > largest {
			problems = append(problems, fmt.Errorf("%s is %d", name, n))
		}
	}
	return errors.Join(problems...)
}
