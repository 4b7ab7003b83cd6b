package hf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// MissingModelError means that a model is neither a path nor in the cache.
type MissingModelError struct {
	Name  string   // as requested
	Tried []string // places searched, in order
}

func (e *MissingModelError) Error() string {
	return fmt.Sprintf("find model %q: not found; tried\n  %s", e.Name, strings.Join(e.Tried, "\n  "))
}

// Hint names the command that downloads the model.
func (e *MissingModelError) Hint() string {
	if !isHubName(e.Name) {
		return "give a folder, an .onnx file, or the name of a model in the Hugging Face cache, such as sentence-transformers/all-MiniLM-L6-v2"
	}
	return fmt.Sprintf("run `hf download %s`, or give a folder that contains the model", e.Name)
}

// modelName matches names of models on the hub: an organisation and a name, or only a name.
var modelName = regexp.MustCompile(`^[\w][\w.-]*(/[\w][\w.-]*)?$`)

// isHubName distinguishes names of models from paths.
func isHubName(name string) bool {
	return modelName.MatchString(name) && !strings.HasSuffix(name, ".onnx")
}

// Fetch returns the name of a model as Resolve takes it: that of a URL is a copy on this machine, with the files beside it.
func Fetch(ctx context.Context, name string) (string, error) {
	if !storage.IsURL(name) {
		return name, nil
	}
	at, err := storage.Parse(name)
	if err != nil {
		return "", err
	}
	return at.FetchBeside(ctx)
}

// Resolve finds a model by name. An existing folder or file is returned as it is. Otherwise it is a name such as
// org/name, whose main revision is looked up in the local cache of the Hugging Face libraries. The cache is
// $HF_HUB_CACHE, else $HF_HOME/hub, else huggingface/hub in $XDG_CACHE_HOME or ~/.cache. If the model is not found, the
// error is a *MissingModelError.
func Resolve(name string) (path string, err error) {
	if name == "" {
		return "", errors.New("find model: no name")
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
		return "", fmt.Errorf("find model: %w", err)
	}
	missing := &MissingModelError{Name: name, Tried: []string{name}}
	if !isHubName(name) {
		return "", missing
	}
	repository := filepath.Join(cacheFolder(), "models--"+strings.ReplaceAll(name, "/", "--"))
	snapshot, err := mainSnapshot(repository)
	if errors.Is(err, fs.ErrNotExist) {
		missing.Tried = append(missing.Tried, repository)
		return "", missing
	}
	if err != nil {
		return "", fmt.Errorf("find model %q: %w", name, err)
	}
	return snapshot, nil
}

// cacheFolder is the folder in which the Hugging Face libraries keep models.
func cacheFolder() string {
	if dir := cmp.Or(os.Getenv("HF_HUB_CACHE"), os.Getenv("HUGGINGFACE_HUB_CACHE")); dir != "" {
		return dir
	}
	if home := os.Getenv("HF_HOME"); home != "" {
		return filepath.Join(home, "hub")
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, _ := os.UserHomeDir() // without a home the cache is looked for below the working folder
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "huggingface", "hub")
}

// mainSnapshot follows refs/main of a cached repository to its files.
func mainSnapshot(repository string) (string, error) {
	ref, err := textfile.ReadFile(filepath.Join(repository, "refs", "main"), textfile.MaxConfig)
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(ref))
	if !filepath.IsLocal(commit) || commit != filepath.Base(commit) || commit == "." {
		return "", fmt.Errorf("%s names no revision: %q", filepath.Join(repository, "refs", "main"), commit)
	}
	snapshot := filepath.Join(repository, "snapshots", commit)
	_, err = os.Stat(snapshot)
	return snapshot, err
}
