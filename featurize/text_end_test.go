package featurize

import (
	"errors"
	"strings"
	"testing"

	"pipe/internal/dataerror"
	"pipe/internal/realdata"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
)

// A tower of texts is not read with a tokenizer that ends texts otherwise than it
// needs, whichever way its configuration names the end.
func TestTextTowerNeedsItsTokenizer(t *testing.T) {
	for _, c := range []struct {
		vocab, end int64
		spelling   bool
		want       string
	}{
		{49408, 49407, true, "the tokenizer does not match the model: a text ends with token 3, but the model's end token is 49407"},
		{49408, 2, true, "ends with token 3, but the model takes the largest id"},
		{hftest.Vocab, 3, true, ""},
	} {
		m := hftest.SpellingCLIP(1)
		m.Vocab, m.End = c.vocab, c.end
		_, err := ReadTextModel(hftest.CLIPFolder(t, m), DefaultTextModelOptions())
		var data *dataerror.Error
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &data) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("end %d: got %v, want %q", c.end, err, c.want)
		}
	}
}

// The tokenizer of CLIP ends its texts as its models of all years say.
func TestTextTowerTakesItsTokenizer(t *testing.T) {
	if testing.Short() {
		t.Skip("reads large tokenizers, one after the other")
	}
	own := TextModelOptions{Tokenizer: realdata.Folder(t, "tokenizers", "clip-vit-large-patch14")}
	for _, end := range []int64{49407, 2} {
		m := hftest.RandomCLIP(1, 112)
		m.End = end
		if _, err := ReadTextModel(hftest.CLIPFolder(t, m), own); err != nil {
			t.Errorf("end %d: %v", end, err)
		}
	}
	other := TextModelOptions{Tokenizer: realdata.Folder(t, "models", "all-MiniLM-L6-v2")}
	if _, err := ReadTextModel(hftest.CLIPFolder(t, hftest.RandomCLIP(1, 112)), other); err == nil || !strings.Contains(err.Error(), "end token is 49407") {
		t.Errorf("a tokenizer of BERT: %v", err)
	}
}

func TestEndsOfTexts(t *testing.T) {
	for _, c := range []struct {
		ids  []int32
		end  int64
		want bool
	}{
		{[]int32{1, 9, 5}, 5, true},
		{[]int32{1, 9, 5}, hf.LargestEnd, false},
		{[]int32{1, 5, 9}, hf.LargestEnd, true},
		{[]int32{9, 5, 9}, hf.LargestEnd, false},
		{[]int32{1, 5, 2, 5}, 5, false},
		{[]int32{1, 5, 2}, 5, false},
		{[]int32{1, 2}, hf.NoEnd, true},
	} {
		if err := checkEnd(c.ids, c.end); (err == nil) != c.want {
			t.Errorf("%v with end %d: %v", c.ids, c.end, err)
		}
	}
}

// Excess counts what would be cut.
func TestExcessOfTexts(t *testing.T) {
	m, err := ReadTextModel(hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Repeat("a ", m.MaxLength-2) // two tokens stand around the text
	if n := m.Excess(whole); n != 0 {
		t.Errorf("%d too many", n)
	}
	if n := m.Excess(whole + "a a a"); n != 3 {
		t.Errorf("%d too many for 3", n)
	}
}
