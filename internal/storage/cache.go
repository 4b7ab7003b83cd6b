package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CacheVariable names the folder of local copies. Without it they are in the user's cache folder, under pipe/storage.
const CacheVariable = "PIPE_STORAGE_CACHE"

func cacheFolder() (string, error) {
	if folder := os.Getenv(CacheVariable); folder != "" {
		return filepath.Abs(folder)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(user, "pipe", "storage"), nil
}

// Fetch returns the path of a copy on this machine of an object, or of all objects below a prefix as a folder. A model,
// NAME.onnx, comes with the objects beside it whose names begin with its name: its data and its description. Copies are kept
// by URL and content, so an object that has changed is fetched again, and the old copy stays for whoever has it open. What
// is on this machine is not copied. If there is nothing remote, the error is fs.ErrNotExist.
func (l Location) Fetch(ctx context.Context) (path string, err error) {
	if !l.IsRemote() {
		return l.name, nil
	}
	if l.name != "" {
		folder, name, err := l.openParent(ctx)
		if err != nil {
			return "", err
		}
		info, err := folder.Stat(ctx, name)
		switch {
		case err == nil && strings.HasSuffix(name, ".onnx"):
			return folder.localWith(ctx, name, name)
		case err == nil:
			return folder.local(ctx, name, false, []Info{info})
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	whole, err := l.Folder(ctx)
	if err != nil {
		return "", err
	}
	all, err := whole.all(ctx, "")
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", &Error{Op: "read", URL: l.String(), Err: &Fault{Msg: "there is no such object or folder", Kind: fs.ErrNotExist}}
	}
	return whole.local(ctx, strings.Trim(l.Base(), "/"), true, all)
}

// FetchBeside is Fetch for an object that is read together with others of its folder, such as a model with its tokenizer.
// Objects in folders of that folder are not copied.
func (l Location) FetchBeside(ctx context.Context) (path string, err error) {
	if !l.IsRemote() {
		return l.name, nil
	}
	folder, name, err := l.openParent(ctx)
	if err != nil {
		return l.Fetch(ctx)
	}
	if _, err := folder.Stat(ctx, name); err != nil { // it is a folder, or nothing
		return l.Fetch(ctx)
	}
	return folder.localWith(ctx, name, "")
}

// localWith returns the copy of an object, beside copies of the objects of the folder whose names begin with prefix.
func (f *Folder) localWith(ctx context.Context, name, prefix string) (string, error) {
	all, err := f.all(ctx, prefix)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(o Info) bool { return strings.Contains(o.Name, "/") })
	copied, err := f.local(ctx, "beside", true, all)
	return filepath.Join(copied, name), err
}

func (f *Folder) all(ctx context.Context, prefix string) (all []Info, err error) {
	for info, err := range f.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// local returns the copy of objects, called name: a folder of them, or the only one.
func (f *Folder) local(ctx context.Context, name string, tree bool, objects []Info) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	content := sha256.New()
	for _, o := range objects {
		fmt.Fprintf(content, "%q %d %d %q\n", o.Name, o.Size, o.Modified.UnixNano(), o.Tag)
	}
	where := sha256.Sum256([]byte(f.at.Join(name).URL()))
	home := filepath.Join(cache, hex.EncodeToString(where[:8]), hex.EncodeToString(content.Sum(nil)[:16]))
	copied := filepath.Join(home, name)
	if _, err := os.Stat(copied); err == nil {
		return copied, nil
	}
	if err := f.fetch(ctx, home, name, tree, objects); err != nil {
		return "", err
	}
	return copied, nil
}

// fetch makes the folder home with the copy in it. Of processes that do so at once, the first one's stays.
func (f *Folder) fetch(ctx context.Context, home, name string, tree bool, objects []Info) error {
	if err := os.MkdirAll(filepath.Dir(home), 0o700); err != nil {
		return fmt.Errorf("make the folder of local copies: %w", err)
	}
	part, err := os.MkdirTemp(filepath.Dir(home), ".part-*")
	if err != nil {
		return fmt.Errorf("make the folder of local copies: %w", err)
	}
	defer os.RemoveAll(part)
	for _, o := range objects {
		target := filepath.Join(part, name)
		if tree {
			if !filepath.IsLocal(filepath.FromSlash(o.Name)) || strings.HasSuffix(o.Name, "/") {
				continue // a name that is none here, such as the empty objects that stand for folders
			}
			target = filepath.Join(target, filepath.FromSlash(o.Name))
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := f.Download(ctx, o.Name, target); err != nil {
			return err
		}
	}
	err = os.Rename(part, home)
	if _, there := os.Stat(home); there == nil {
		return nil
	}
	return err
}

// Work returns the path of a folder on this machine for work on a remote location that needs a disk, such as checkpoints. It
// is the same in every run of this user on this machine. That of a path is the path.
func (l Location) Work() (path string, err error) {
	if !l.IsRemote() {
		return l.name, nil
	}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	where := sha256.Sum256([]byte(l.URL()))
	return filepath.Join(cache, "work", hex.EncodeToString(where[:8]), l.Base()), nil
}
