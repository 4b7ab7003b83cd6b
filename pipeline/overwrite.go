package pipeline

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"pipe/costs/build"
	"pipe/internal/outside"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// runFiles are the files of one run of a stage. Every stage that leaves files states them and calls keepInputs before it
// does anything else.
type runFiles struct {
	reads  []readFile
	writes []written
}

// readFile is a file that a run reads, or a folder of them.
type readFile struct {
	path string
	info os.FileInfo            // of what has no path, such as standard input; nil: that of path
	part func(name string) bool // which files of a folder and of those below it are read, by base name; nil: all
	grow bool                   // a file that is added to the folder is read, too, if it is such a part
	big  bool                   // a folder that may hold too much to be listed: outputs are looked for in it by their names
}

// written is a file that a run may write, or those in a folder whose names match patterns.
type written struct {
	path     string
	patterns []string
	info     os.FileInfo // of what is open already, such as standard output; nil: that of path
}

// keepInputs is an *OptionError where an output would take the place of a file that the run reads. Files are compared by
// what they are, not by how they are named: a link, another spelling or another letter case does not hide one.
func keepInputs(f runFiles) error {
	for _, in := range f.reads {
		for _, out := range f.writes {
			if in.takes(out) {
				return &OptionError{fmt.Errorf("the output %q would be one of the files of %q, which this run reads: name another --out", out.path, in.path)}
			}
		}
	}
	there := f.there()
	if len(there) == 0 {
		return nil
	}
	for _, in := range f.reads {
		for path, info := range in.among(there) {
			for _, out := range there {
				if os.SameFile(info, out.info) {
					return &OptionError{fmt.Errorf("the output %q would replace %q, which this run reads: name another --out", out.path, path)}
				}
			}
		}
	}
	return nil
}

// takes reports whether a new output would lie in a folder that is read and be read with it the next time.
func (r *readFile) takes(out written) bool {
	if !r.grow || out.info != nil || out.patterns != nil || !r.part(filepath.Base(out.path)) {
		return false
	}
	if _, err := os.Stat(out.path); err == nil {
		return false // an existing file is compared with those of the folder
	}
	folder, err := os.Stat(r.path)
	if err != nil || !folder.IsDir() {
		return false
	}
	parent, err := os.Stat(filepath.Dir(out.path))
	return err == nil && os.SameFile(folder, parent)
}

// there are the regular files that are in the place of outputs now.
func (f *runFiles) there() (found []written) {
	add := func(path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, written{path: path, info: info})
		}
	}
	for _, w := range f.writes {
		switch {
		case w.info != nil:
			found = append(found, w)
		case w.patterns == nil:
			add(w.path)
		default:
			entries, _ := os.ReadDir(w.path) // a folder that is not there yet holds nothing
			for _, e := range entries {
				if matches(e.Name(), w.patterns) {
					add(filepath.Join(w.path, e.Name()))
				}
			}
		}
	}
	return found
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := filepath.Match(p, name)
		return ok
	})
}

// among are the file, or the files of the folder that could be one of the outputs. What is not there is no input: the
// stage says so.
func (r *readFile) among(outputs []written) iter.Seq2[string, os.FileInfo] {
	return func(yield func(string, os.FileInfo) bool) {
		info := r.info
		if info == nil {
			var err error
			if info, err = os.Stat(r.path); err != nil {
				return
			}
		}
		switch {
		case !info.IsDir():
			yield(r.path, info)
		case r.big:
			r.inside(info, outputs, yield)
		default:
			r.listed(yield)
		}
	}
}

// listed yields all files of the folder.
func (r *readFile) listed(yield func(string, os.FileInfo) bool) {
	root, err := filepath.EvalSymlinks(r.path)
	if err != nil {
		return
	}
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || r.part != nil && !r.part(e.Name()) {
			return nil // what cannot be listed is not read either
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && !yield(path, info) {
			return filepath.SkipAll
		}
		return nil
	})
}

// inside yields the outputs that lie in the folder.
func (r *readFile) inside(folder os.FileInfo, outputs []written, yield func(string, os.FileInfo) bool) {
	for _, out := range outputs {
		path, err := filepath.EvalSymlinks(out.path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil || r.part != nil && !r.part(filepath.Base(path)) {
			continue
		}
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err == nil && os.SameFile(info, folder) && !yield(path, out.info) {
				return
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
}

// reads are files that are read whatever they are called; empty names count for nothing.
func reads(paths ...string) (list []readFile) {
	for _, p := range paths {
		if p != "" {
			list = append(list, readFile{path: p})
		}
	}
	return list
}

// readsTensor is a tensor, of one file or of parts, with the actions beside it.
func readsTensor(path, actions string) []readFile {
	list := []readFile{{path: path, part: ending(".parquet"), grow: true}}
	if !isFolder(path) {
		path = filepath.Dir(path)
	}
	return append(list, reads(filepath.Join(path, "actions.json"), actions)...)
}

// readsModel is a model as pipe convert takes it: a folder, a file with those beside it that belong to it, or a name in
// the local cache. Of a folder, other exports than model.onnx are not read.
func readsModel(name string) []readFile {
	path, err := hf.Resolve(name)
	if err != nil {
		return nil
	}
	if isFolder(path) {
		return []readFile{{path: path, part: func(name string) bool {
			return name == "model.onnx" || filepath.Ext(name) != ".onnx"
		}}}
	}
	list := append(reads(path), readFile{path: filepath.Dir(path), part: externalTo(path), big: true})
	beside, _ := filepath.Glob(quoteGlob(path) + "?*") // the weights of a model that cannot be read
	settings, _ := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(path)), "*.json"))
	return append(list, reads(append(beside, settings...)...)...)
}

// externalTo knows the files that hold data of a model's tensors by their base names. The model is read when it is first
// asked, which is where an output lies in its folder already.
func externalTo(model string) func(name string) bool {
	files := sync.OnceValue(func() []string {
		list, _ := outside.Read(func() ([]string, error) { return onnx.ExternalFiles(model) })
		return list // none of a model that cannot be read, which the stage says
	})
	return func(name string) bool {
		return slices.ContainsFunc(files(), func(f string) bool { return filepath.Base(filepath.FromSlash(f)) == name })
	}
}

// quoteGlob is the pattern that matches path alone.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// readsConfig is a configuration file and every file and folder that it names: any text in it that leads to something
// from the folder of the file. So a kind of expert or advice that is added later is covered.
func readsConfig(path string) []readFile {
	if path == "" {
		return nil
	}
	list := reads(path)
	for _, name := range configTexts(path) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		list = append(list, readFile{path: name, part: ending(inputEndings...), big: true})
	}
	return list
}

// configTexts are the values of a configuration file; none of one that is wrong, which the stage says. A named pipe can be
// read once only, and that is the stage's.
func configTexts(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil
	}
	text, err := readConfigFile(path)
	if err != nil {
		return nil
	}
	list, _ := outside.Read(func() ([]string, error) {
		var root yaml.Node
		if err := yaml.Load(text, &root); err != nil || len(expandNode(&root, os.LookupEnv)) > 0 {
			return nil, err
		}
		return texts(&root, nil), nil
	})
	return list
}

// inputEndings are those of the files that stages read of folders.
var inputEndings = append([]string{".parquet", ".jsonl", ".csv", ".json", ".onnx", ".safetensors", ".txt"}, imageEndings...)

var imageEndings = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// texts are the values of a configuration that could name files.
func texts(n *yaml.Node, list []string) []string {
	if n.Kind == yaml.ScalarNode && n.Value != "" && !strings.Contains(n.Value, "\n") {
		list = append(list, n.Value)
	}
	for _, child := range n.Content {
		list = texts(child, list)
	}
	return list
}

func ending(list ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(filepath.Ext(name), e) })
	}
}

// standardFile is standard input or output where it is a regular file; what is none cannot be replaced.
func standardFile(stream any) os.FileInfo {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// reportPatterns are the files that WriteReport leaves.
var reportPatterns = []string{"report.json", "report.md", "report.csv", "report.html", "disclosure.csv", "experts.csv", "*.png", "*.svg"}

func (o EvalOptions) files() runFiles {
	f := runFiles{reads: readsTensor(o.Tensor, o.Actions)}
	for _, p := range o.Policies {
		f.reads = append(f.reads, readFile{path: p, part: ending(".onnx")})
	}
	if o.Out != "" {
		f.writes = []written{{path: o.Out, patterns: reportPatterns}}
	}
	return f
}

func (o TrainOptions) files() runFiles {
	return runFiles{
		reads:  append(readsTensor(o.Tensor, o.Actions), reads(o.Config)...),
		writes: []written{{path: o.Out, patterns: []string{trainReportFile, "*.onnx"}}},
	}
}

func (o DecideOptions) files(stdin io.Reader, stdout io.Writer) runFiles {
	f := runFiles{reads: append(reads(o.Policy), readsModel(o.Encoder)...), writes: []written{{path: o.Out}}}
	if o.In == "-" {
		f.reads = append(f.reads, readFile{path: standardInput, info: standardFile(stdin)})
	} else {
		f.reads = append(f.reads, readFile{path: o.In, part: ending(".parquet"), grow: true})
	}
	if o.Image != "" {
		f.reads = append(f.reads, readFile{path: filepath.Dir(o.In), part: ending(imageEndings...), big: true})
	}
	if o.Out == "-" {
		f.writes = nil
		if info := standardFile(stdout); info != nil {
			f.writes = []written{{path: "standard output", info: info}}
		}
	}
	return f
}

func (o FeaturizeOptions) files() runFiles {
	return runFiles{
		reads:  reads(o.Columns, o.Primary, o.Joined),
		writes: []written{{path: o.Out, patterns: []string{tableFile, encoderFile, featurizeFile, "featurize.stage.json"}}},
	}
}

func (o IndexOptions) files() runFiles {
	return runFiles{reads: []readFile{{path: o.Pages, part: ending(".jsonl"), grow: true}}, writes: []written{{path: o.Out}}}
}

func (o ConvertOptions) files() runFiles {
	return runFiles{
		reads:  slices.Concat(readsModel(o.Model), readsModel(o.Tokenizer), reads(o.Merge)),
		writes: []written{{path: o.Out}},
	}
}

func (o CostsOptions) files() runFiles {
	f := runFiles{reads: readsConfig(o.Config)}
	for _, path := range build.OutputFiles(o.Out, o.Answers) {
		f.writes = append(f.writes, written{path: path})
	}
	return f
}

func importFiles(config, out string) runFiles {
	return runFiles{reads: readsConfig(config), writes: []written{{path: out}}}
}

// files of a benchmark lie in its folder and in those below it that hold records of finished steps.
func (o BenchOptions) files() runFiles {
	f := runFiles{reads: readsConfig(o.Config)}
	if o.Out == "" {
		return f
	}
	patterns := append([]string{"*.stage.json", "costs.parquet", tableFile, encoderFile, featurizeFile, trainReportFile, "*.onnx"}, reportPatterns...)
	folders := map[string]bool{o.Out: true}
	_ = filepath.WalkDir(o.Out, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".stage.json") {
			folders[filepath.Dir(path)] = true
		}
		return nil
	})
	for folder := range folders {
		f.writes = append(f.writes, written{path: folder, patterns: patterns})
	}
	return f
}
