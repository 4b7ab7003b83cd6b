package prices

import "errors"

// OneName moves the prices of tokens to in and out if they are stated as prompt and completion. A price has one kind of names;
// both are an error.
func OneName(in, out, prompt, completion **float64) error {
	switch {
	case *prompt == nil && *completion == nil:
		return nil
	case *in != nil || *out != nil:
		return errors.New("prompt and completion are other names of in and out; a price has either in and out, or prompt and completion")
	}
	*in, *out, *prompt, *completion = *prompt, *completion, nil, nil
	return nil
}
