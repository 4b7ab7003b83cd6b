package costs

import (
	"encoding/json"
	"fmt"
)

// BlocksKey is the key in Tensor.Meta for the widths of the blocks of features, a JSON list. The features of a block were made
// together, such as the vector of an encoder. It is absent where there is one block.
const BlocksKey = "pipe.feature_blocks"

// BlocksText is the value of BlocksKey: "" for fewer than two blocks.
func BlocksText(widths []int) string {
	if len(widths) < 2 {
		return ""
	}
	text, err := json.Marshal(widths)
	if err != nil {
		panic(fmt.Sprintf("costs: numbers cannot be written as JSON: %v", err))
	}
	return string(text)
}

// Blocks are the widths of the blocks of features, in their order. Where none are recorded, or what is recorded does not suit
// the number of features, all of them are one block.
func (t *Tensor) Blocks() []int {
	var widths []int
	left := t.Dim
	if json.Unmarshal([]byte(t.Meta[BlocksKey]), &widths) == nil {
		for _, w := range widths {
			if w < 1 || w > left {
				return []int{t.Dim}
			}
			left -= w
		}
	}
	if left != 0 {
		return []int{t.Dim}
	}
	return widths
}
