package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// configFile is where a model's folder says what the model is.
const configFile = "config.json"

// Config is what config.json says about any text model.
type Config struct {
	ModelType    string `json:"model_type"` // the architecture
	VocabSize    int64  `json:"vocab_size"`
	MaxPositions int64  `json:"max_position_embeddings"` // most tokens of a text
	PadID        int64  `json:"pad_token_id"`
}

// ReadConfig reads the config.json of a folder.
func ReadConfig(folder string) (*Config, error) {
	c := Config{PadID: 1} // what architectures that use it take by default
	if err := readJSON(folder, configFile, &c); err != nil {
		return nil, err
	}
	if architectures[c.ModelType].shifted {
		c.MaxPositions -= c.PadID + 1
	}
	return &c, nil
}

// readJSON reads a file of a model's folder. Fields that v lacks are passed over:
// files of newer versions have more.
func readJSON(folder, name string, v any) error {
	path := filepath.Join(folder, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read model: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
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
	for name, n := range sizes {
		if n < 1 || n > largest {
			problems = append(problems, fmt.Errorf("%s is %d", name, n))
		}
	}
	return errors.Join(problems...)
}
