package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// InLine rewords an error about a line that should have a whole JSON value.
func InLine(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Error() == "unexpected end of JSON input" {
		return errors.New("the line ends within a JSON value; write one object per line, as jq -c . does, or jq -c '.[]' for a list")
	}
	return Plain(err)
}

// Plain rewords an error of the JSON package without the names of Go's types: it names the field whose value has the
// wrong type.
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
