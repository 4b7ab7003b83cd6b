package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/textfile"
)

// restore reads the saved usage of keys. Without a file it does nothing.
func (a *Access) restore() error {
	file := string(a.settings.Spent)
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the usage of keys: %w", err)
	}
	var spent map[string]Spent
	if len(text) > textfile.MaxYAML || json.Unmarshal(text, &spent) != nil || !isValid(spent) {
		return &config.Error{File: file, Problems: []string{"it is not a file of pipe serve with the usage of keys; remove it to restart all periods"}}
	}
	for _, k := range *a.keys.Load() {
		if s, ok := spent[k.caller.Name]; ok {
			k.caller.lock.Lock()
			k.caller.spent = s
			k.caller.lock.Unlock()
		}
	}
	return nil
}

// isValid reports whether saved amounts are possible.
func isValid(spent map[string]Spent) bool {
	for _, s := range spent {
		if s.Tokens < 0 || !(s.Money >= 0) || math.IsInf(s.Money, 0) {
			return false
		}
	}
	return true
}

// Save writes the usage of keys to the file of the settings. Without one it does nothing.
func (a *Access) Save() error {
	if a.settings.Spent == "" {
		return nil
	}
	spent := map[string]Spent{}
	for _, k := range *a.keys.Load() {
		spent[k.caller.Name] = k.caller.Spent()
	}
	text, err := json.MarshalIndent(spent, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(string(a.settings.Spent), append(text, '\n'))
}
