package hf_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
)

// write rewrites the files of a folder.
func write(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzReadHead: modules.json and the configuration of a pooling give an error that names the folder, or a valid head.
func FuzzReadHead(f *testing.F) {
	f.Add([]byte(`[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}, {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]`),
		[]byte(`{"word_embedding_dimension": 384, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false}`))
	f.Add([]byte(`[{"type": "Pooling", "path": "1_Pooling"}]`), []byte(`{"pooling_mode_cls_token": true}`))
	f.Add([]byte(`[{"type": "Pooling", "path": "../x"}]`), []byte(`{"pooling_mode_cls_token": 1}`))
	f.Add([]byte(`[{"type": "Dense"}]`), []byte(`{"pooling_mode_max_tokens": true}`))
	f.Add([]byte(`null`), []byte(`{"pooling_mode_cls_token": true, "pooling_mode_cls_token": false}`))
	folder := f.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "1_Pooling"), 0o777); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, modules, pooling []byte) {
		write(t, folder, map[string][]byte{"modules.json": modules, "1_Pooling/config.json": pooling})
		h, err := hf.ReadHead(folder)
		switch {
		case err != nil && !strings.Contains(err.Error(), folder):
			t.Fatalf("%v does not name the folder", err)
		case err == nil && (h == nil || !slices.Contains([]string{hf.PoolMean, hf.PoolCLS}, h.Pooling)):
			t.Fatalf("%+v", h)
		}
	})
}

// FuzzWeightsIndex: the index of shards gives an error that names the folder, or lists only files in the folder; the
// model built from them is valid.
func FuzzWeightsIndex(f *testing.F) {
	f.Add([]byte(`{"metadata": {"total_size": 1}, "weight_map": {"text_model.embeddings.token_embedding.weight": "model-00001-of-00001.safetensors"}}`))
	f.Add([]byte(`{"weight_map": {"a": "../x.safetensors"}}`))
	f.Add([]byte(`{"weight_map": {"a": "none.safetensors", "b": "model-00001-of-00001.safetensors"}}`))
	f.Add([]byte(`{"weight_map": null}`))
	folder := hftest.CLIPFolder(f, hftest.SpellingCLIP(1))
	if err := os.Rename(filepath.Join(folder, "model.safetensors"), filepath.Join(folder, "model-00001-of-00001.safetensors")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		write(t, folder, map[string][]byte{"model.safetensors.index.json": index})
		files, err := hf.ModelFiles(folder)
		if err != nil {
			if !strings.Contains(err.Error(), folder) {
				t.Fatalf("%v does not name the folder", err)
			}
			return
		}
		for _, file := range files {
			if filepath.Dir(file) != folder {
				t.Fatalf("%q is not in the folder", file)
			}
		}
		m, err := hf.Model(folder, hf.Options{Tower: hf.TowerText})
		if err == nil {
			err = m.Check()
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzResolve: for any main revision in the cache, the result is a folder below the snapshots.
func FuzzResolve(f *testing.F) {
	cache := f.TempDir()
	repository := filepath.Join(cache, "models--org--name")
	for _, folder := range []string{"refs", "snapshots/abc"} {
		if err := os.MkdirAll(filepath.Join(repository, filepath.FromSlash(folder)), 0o777); err != nil {
			f.Fatal(err)
		}
	}
	f.Setenv("HF_HUB_CACHE", cache)
	for _, ref := range []string{"abc\n", "", ".", "..", "../abc", "abc/../abc", "/", "abc\x00", "none"} {
		f.Add([]byte(ref))
	}
	f.Fuzz(func(t *testing.T, ref []byte) {
		write(t, repository, map[string][]byte{"refs/main": ref})
		path, err := hf.Resolve("org/name")
		if err == nil && path != filepath.Join(repository, "snapshots", "abc") || err != nil && !strings.Contains(err.Error(), "org/name") {
			t.Fatalf("%q, %v", path, err)
		}
	})
}
