package part

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"pipe/internal/config"
)

// Path is a file or folder of a configuration; a relative one starts from the
// folder of the configuration file. Its JSON form is the base name.
type Path = config.Path

// DecodeSettings fills dst, a pointer to a struct that holds the defaults, from
// the settings of a part. Unknown keys, keys without a value and wrong types are
// errors that name the key.
func DecodeSettings(settings map[string]any, dst any) error {
	return config.DecodeSettings(settings, dst)
}

// PerChannel are numbers for red, green and blue; a configuration may set one
// number for all three.
type PerChannel []float32

// UnmarshalJSON takes a number or a list.
func (p *PerChannel) UnmarshalJSON(b []byte) error {
	var one float32
	if err := json.Unmarshal(b, &one); err == nil && !bytes.Equal(b, []byte("null")) {
		*p = PerChannel{one, one, one}
		return nil
	}
	err := json.Unmarshal(b, (*[]float32)(p))
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Type == reflect.TypeFor[[]float32]() {
		wrong.Type = reflect.TypeFor[PerChannel]()
	}
	return err
}

// InWords names the values that a setting of this type takes, for errors.
func (PerChannel) InWords() string { return "a number or a list" }
