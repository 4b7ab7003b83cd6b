package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Plain is an error of the JSON package without the names of Go's types: it says which field has a value of the wrong type.
func Plain(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("a JSON object is expected, not a JSON %s", wrong.Value)
	}
	return fmt.Errorf("field %q cannot be a JSON %s", wrong.Field, wrong.Value)
}
