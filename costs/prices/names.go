package prices

import "errors"

// OneName returns the prices of input and of output tokens, which have two
// names: in and out, or prompt and completion. A price has one kind of names.
func OneName(in, out, prompt, completion *float64) (tokensIn, tokensOut *float64, err error) {
	switch {
	case prompt == nil && completion == nil:
		return in, out, nil
	case in == nil && out == nil:
		return prompt, completion, nil
	}
	return nil, nil, errors.New("prompt and completion are other names of in and out; a price has either in and out, or prompt and completion")
}
