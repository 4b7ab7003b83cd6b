package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/realdata"
)

// files are the tokenizers that everything is held to, by the name of their
// golden file.
var files = map[string]string{
	"all-MiniLM-L6-v2":       "models/all-MiniLM-L6-v2",
	"clip-vit-large-patch14": "tokenizers/clip-vit-large-patch14",
	"deberta-v3-tiny-random": "models/tiny-random/deberta-v3-tiny-random",
	"qwen3-tiny-random":      "models/tiny-random/qwen3-tiny-random",
}

// load reads a real tokenizer.
func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Load(realdata.Folder(t, files[name]))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// readJSON reads a real file.
func readJSON(t testing.TB, to any, below ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(realdata.Folder(t), filepath.Join(below...)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

// goldens are the ids that the reference gave for texts and pairs.
type goldens struct {
	Special bool `json:"with_special_tokens"`
	Singles []struct {
		Text string
		IDs  []int32
	}
	Pairs []struct {
		A, B  string
		IDs   []int32
		Types []int32 `json:"type_ids"`
	}
}

func readGolden(t testing.TB, name string) (g goldens) {
	t.Helper()
	readJSON(t, &g, "tokenizers", "golden-"+name+".json")
	return g
}

// The golden files of the four tokenizers.
func TestGolden(t *testing.T) {
	for name := range files {
		t.Run(name, func(t *testing.T) {
			tok := load(t, name)
			golden := readGolden(t, name)
			if len(golden.Singles) != 288 || len(golden.Pairs) != 32 {
				t.Fatalf("%d texts and %d pairs", len(golden.Singles), len(golden.Pairs))
			}
			o := Options{Special: golden.Special}
			for _, g := range golden.Singles {
				checkIDs(t, tok, g.Text, g.IDs, tok.Encode(g.Text, o).IDs)
			}
			for _, g := range golden.Pairs {
				got := tok.EncodePair(g.A, g.B, o)
				checkIDs(t, tok, g.A+" | "+g.B, g.IDs, got.IDs)
				if g.Types != nil && !slices.Equal(g.Types, got.Types) {
					t.Errorf("types of %q and %q: %s", g.A, g.B, cmp.Diff(g.Types, got.Types))
				}
			}
		})
	}
}

// checkIDs compares ids and shows the tokens.
func checkIDs(t testing.TB, tok *Tokenizer, text string, want, got []int32) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	t.Errorf("%+q:\nwant %q\n got %q", text, tokens(tok, want), tokens(tok, got))
}

func tokens(tok *Tokenizer, ids []int32) (list []string) {
	for _, id := range ids {
		token, _ := tok.Token(id)
		list = append(list, token)
	}
	return list
}

// The ids in the golden files of the models themselves.
func TestGoldenOfModels(t *testing.T) {
	t.Run("all-MiniLM-L6-v2", func(t *testing.T) {
		tok := load(t, "all-MiniLM-L6-v2")
		var golden struct {
			Length int `json:"max_length"`
			Texts  []string
			IDs    [][]int32
		}
		readJSON(t, &golden, files["all-MiniLM-L6-v2"], "golden.json")
		for i, text := range golden.Texts {
			checkIDs(t, tok, text, golden.IDs[i], tok.Encode(text, Options{Special: true, MaxLength: golden.Length}).IDs)
		}
	})
	t.Run("clip-tiny-random", func(t *testing.T) {
		tok := load(t, "clip-vit-large-patch14")
		var golden struct {
			Texts []string
			IDs   [][]int32 `json:"input_ids"`
		}
		readJSON(t, &golden, "models/tiny-random/clip-tiny-random", "golden.json")
		for i, text := range golden.Texts {
			batch := []Encoding{tok.Encode(text, Options{Special: true, MaxLength: 77})}
			end, _ := tok.ID("<|endoftext|>")
			Padding{ID: end, Length: len(golden.IDs[i])}.Apply(batch)
			checkIDs(t, tok, text, golden.IDs[i], batch[0].IDs)
		}
	})
	t.Run("deberta-v3-tiny-random", func(t *testing.T) {
		tok := load(t, "deberta-v3-tiny-random")
		var golden struct {
			Pairs [][2]string `json:"pairs_premise_hypothesis"`
			IDs   [][]int32   `json:"input_ids"`
			Types [][]int32   `json:"token_type_ids"`
		}
		readJSON(t, &golden, files["deberta-v3-tiny-random"], "golden.json")
		for i, p := range golden.Pairs {
			got := tok.EncodePair(p[0], p[1], tok.Defaults())
			checkIDs(t, tok, p[0]+" | "+p[1], golden.IDs[i], got.IDs)
			if !slices.Equal(golden.Types[i], got.Types) {
				t.Errorf("types of %q: %s", p, cmp.Diff(golden.Types[i], got.Types))
			}
		}
	})
	t.Run("qwen3-tiny-random", func(t *testing.T) {
		tok := load(t, "qwen3-tiny-random")
		var golden struct {
			Prompts, Labels []string
			IDs             [][]int32 `json:"input_ids"`
			LabelIDs        [][]int32 `json:"label_ids"`
		}
		readJSON(t, &golden, files["qwen3-tiny-random"], "golden.json")
		for i, text := range golden.Prompts {
			checkIDs(t, tok, text, golden.IDs[i], tok.Encode(text, Options{}).IDs)
		}
		for i, text := range golden.Labels {
			checkIDs(t, tok, text, golden.LabelIDs[i], tok.Encode(text, Options{}).IDs)
		}
	})
}
