package tools_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// addition is a row of the table of things to add in ARCHITECTURE.md, done: its new files lie in testdata/adding.
type addition struct {
	what  string            // as the row calls it
	name  string            // what stands for NAME in the row
	lines map[string][]line // that are added, by file
}

// line is added to a file after a line that ends so.
type line struct{ after, text string }

var additions = []addition{
	{"an expert", "repeater", map[string][]line{
		"experts/expert/kinds.go": {{"map[string]part.NewExpert{", `"repeater": newRepeater,`}},
	}},
	{"an expert that learns", "speller", map[string][]line{
		"experts/expert/trained/kinds.go": {{"map[string]part.NewExpert{", `"speller": newSpeller,`}},
	}},
	{"advice", "measured", map[string][]line{
		"experts/advice/kinds.go": {{"map[string]part.NewAdvice{", `"measured": newMeasured,`}},
	}},
	{"a source", "wordlist", map[string][]line{
		"experts/source/kinds.go": {{"map[string]part.NewSource{", `"wordlist": newWordlist,`}},
	}},
	{"a feature", "spelling", map[string][]line{
		"experts/feature/kinds.go": {{"map[string]part.NewFeature{", `"spelling": newSpelling,`}},
	}},
	{"a task loss", "letters", map[string][]line{
		"experts/kinds/lists.go": {{"map[string]part.NewLoss{", `"letters": newLetters,`}},
	}},
	{"a split", "leading", map[string][]line{
		"experts/kinds/lists.go": {{"map[string]part.NewSplit{", `"leading": splitLeading,`}},
	}},
	{"a chat model", "parrot", map[string][]line{
		"experts/chat/kinds.go": {{"map[string]any) (Model, error){", `"parrot": newParrot,`}},
	}},
	{"a kind of expert behind the gateway", "twin", map[string][]line{
		"serve/gateway/protocol/kinds.go": {{"[]*Kind{", "Twin,"}},
	}},
	{"a grader of open answers", "prefix", map[string][]line{
		"costs/grade/kinds.go": {{"map[string]newGrader{", `"prefix": newPrefix,`}},
	}},
	{"an architecture of encoders of texts", "bagofwords", map[string][]line{
		"onnx/hf/registry.go": {{"map[string]architecture{", `"bag_of_words": {towers: oneTower(buildBagOfWords)},`}},
	}},
	{"an architecture of encoders of images", "meancolour", map[string][]line{
		"onnx/hf/registry.go": {{"map[string]architecture{", `"mean_colour": {towers: map[Tower]builder{TowerVision: buildMeanColour}, describe: describeMeanColour},`}},
	}},
	{"an input of encoders besides texts and images", "melody", map[string][]line{
		"onnx/hf/registry.go": {{"map[string]architecture{", `"melody": {towers: map[Tower]builder{TowerMelody: buildMelody}, describe: describeMelody},`}},
		"featurize/encoder_input.go": {
			{`InputImage = "image"`, `InputMelody = "melody"`},
			{"[]encoderInput{", `{
				name: InputMelody, tower: hf.TowerMelody, vector: hf.MelodyEmbeds, form: "melodies", reads: func(v onnx.IO) bool { return v.Name == hf.NoteCounts },
				check: func(*EncoderInfo) error { return nil }, size: func(*EncoderInfo) string { return "melodies of seven notes" },
			},`},
		},
		"pipeline/convert/encoder.go": {{
			"func(o Options) (encoderModel, error){",
			"featurize.InputMelody: func(o Options) (encoderModel, error) { return featurize.ReadMelodyModel(o.Model) },",
		}},
		"pipeline/decide/encoder.go": {{"o encoderOptions) (vectors, error){", "InputMelody: openMelodies,"}},
		"pipeline/decide/stream.go": {
			{"type StreamOptions struct {", "Melody string // the column or field that contains the notes; empty: rows are not melodies"},
			{"return map[string]string{", "InputMelody: o.Melody,"},
		},
		"cmd/pipe/cmd_decide.go": {{`for an encoder of images")`, `f.StringVar(&o.Melody, "melody", "", "column or field with the notes, for an encoder of melodies")`}},
	}},
	{"a surrogate", "squared", map[string][]line{
		"models/method.go":         {{`any number of experts and advice"},`, `{Name: "squared", Surrogate: squared{}, About: "estimates of all costs, of which the least is taken"},`}},
		"models/surrogate_test.go": {{`{"separated_softmax", 3, 3, false},`, `{"squared", 3, 2, false},`}},
	}},
	{"a decoder", "cheapest", map[string][]line{
		"models/policy/decoder.go":     {{"map[Decoder]decoder{", `DecoderCheapest: decodeCheapest{},`}},
		"models/policy/policy_test.go": {{"map[Decoder]func(j, levels int) int{", `DecoderCheapest: func(j, levels int) int { return j * levels },`}},
	}},
	{"an estimator of logged decisions", "capped", map[string][]line{
		"models/offpolicy/estimator.go": {{"[]Estimator{", `capped,`}},
	}},
	{"a benchmark", "coin", map[string][]line{
		"bench/all.go": {{"[]Benchmark{", `coinBenchmark,`}},
	}},
	{"a kind of file for `pipe inspect`", "subtitles", map[string][]line{
		"pipeline/inspect/file.go": {
			{"[]explainer{", `{"subtitles", func(head []byte, _ bool) bool { return string(head[:min(6, len(head))]) == "WEBVTT" }, explainSubtitles},`},
		},
	}},
	{"a command", "count", map[string][]line{
		"cmd/pipe/root.go":           {{"root.AddCommand(", "countCommand(a),"}},
		"cmd/pipe/overwrite_test.go": {{"map[string][]struct{ in, args string }{", `"count": {{"rows.csv", "count IN --out IN"}},`}},
	}},
}

// filled are the new files of an addition: those of its row with its name.
func (a addition) filled(row row) []string {
	var files []string
	for _, file := range row.files {
		files = append(files, strings.ReplaceAll(file, "NAME", a.name))
	}
	return files
}

// row is a row of the page: paths from the module's root.
type row struct{ files, lines []string }

var quotedPath = regexp.MustCompile("`([^`]+)`")

// pageRows reads the table of the page, by its first column.
func pageRows(t *testing.T) map[string]row {
	t.Helper()
	_, section, found := strings.Cut(readText(t, "../ARCHITECTURE.md"), "\n## Adding things\n")
	if !found {
		t.Fatal("the page has no section on adding things")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	paths := func(cell string) (list []string) {
		for _, m := range quotedPath.FindAllStringSubmatch(cell, -1) {
			list = append(list, m[1])
		}
		slices.Sort(list)
		return list
	}
	rows := map[string]row{}
	for text := range strings.Lines(section) {
		if cells := strings.Split(text, "|"); len(cells) == 5 && strings.Contains(cells[2], "`") {
			rows[strings.TrimSpace(cells[1])] = row{paths(cells[2]), paths(cells[3])}
		}
	}
	return rows
}

// TestAddingIsOnThePage: the page names what is added, and each of its rows is done, with the files that it names.
func TestAddingIsOnThePage(t *testing.T) {
	rows := pageRows(t)
	used := map[string]bool{}
	for _, a := range additions {
		row, named := rows[a.what]
		if !named {
			t.Errorf("ARCHITECTURE.md has no row for %s", a.what)
			continue
		}
		delete(rows, a.what)
		if edited := slices.Sorted(maps.Keys(a.lines)); !slices.Equal(edited, row.lines) {
			t.Errorf("%s: lines in %v; ARCHITECTURE.md names %v", a.what, edited, row.lines)
		}
		for _, file := range a.filled(row) {
			used[file] = true
		}
	}
	for what := range rows {
		t.Errorf("ARCHITECTURE.md tells how to add %s, and nothing of that kind is added", what)
	}
	for _, file := range newFiles(t) {
		if !used[file] {
			t.Errorf("testdata/adding/%s belongs to no row of ARCHITECTURE.md", file)
		}
	}
}

// added is the folder of the new files, which lie there as in the module.
const added = "testdata/adding"

// newFiles lists the new files; those of the program of another module are not of the module.
func newFiles(t *testing.T) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(added), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && path.Dir(name) != "outside" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// touched lists the packages that get files or lines, as the go command names them.
func touched(t *testing.T) (packages []string) {
	t.Helper()
	files := newFiles(t)
	for _, a := range additions {
		files = slices.AppendSeq(files, maps.Keys(a.lines))
	}
	for _, file := range files {
		if path.Ext(file) == ".go" {
			packages = append(packages, "./"+path.Dir(file))
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// overlay writes what -overlay of the go command takes: the module with all additions, of which nothing is copied.
func overlay(t *testing.T) string {
	t.Helper()
	dir, root := t.TempDir(), filepath.Dir(working(t))
	replace := map[string]string{}
	for _, file := range newFiles(t) {
		if _, err := os.Lstat(filepath.Join(root, file)); err == nil {
			t.Fatalf("%s is no new file", file)
		}
		replace[filepath.Join(root, file)] = filepath.Join(working(t), added, file)
	}
	for file, text := range edited(t, root) {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		save(t, path, text)
		replace[filepath.Join(root, file)] = path
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	save(t, path, string(text))
	return path
}

// edited returns the files of the module that get lines, with them.
func edited(t *testing.T, root string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, a := range additions {
		for file, lines := range a.lines {
			if _, read := texts[file]; !read {
				texts[file] = readText(t, filepath.Join(root, file))
			}
			for _, add := range lines {
				before, after, found := strings.Cut(texts[file], add.after+"\n")
				if !found || strings.Contains(after, add.after+"\n") {
					t.Fatalf("%s has not one line that ends in %q", file, add.after)
				}
				texts[file] = before + add.after + "\n" + add.text + "\n" + after
			}
		}
	}
	return texts
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
