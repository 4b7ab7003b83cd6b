package sharedlib

import (
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// CheckImage makes sure that the shared library at path is for this machine and is not shorter than its headers say.
func CheckImage(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if runtime.GOOS == "darwin" {
		return checkMachO(path)
	}
	return checkELF(path, uint64(info.Size()))
}

var elfMachines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func checkELF(path string, size uint64) error {
	f, err := elf.Open(path)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not a shared library, or a truncated shared library")
	}
	if err != nil {
		return fmt.Errorf("not a shared library: %w", err)
	}
	defer f.Close()
	if want, known := elfMachines[runtime.GOARCH]; known && f.Machine != want {
		return fmt.Errorf("built for %v, this machine is %v", f.Machine, want)
	}
	if f.Type != elf.ET_DYN {
		return fmt.Errorf("not a shared library: ELF type %v", f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && (p.Off > size || p.Filesz > size-p.Off) {
			return fmt.Errorf("truncated: %d bytes, its headers need %d", size, p.Off+p.Filesz)
		}
	}
	return nil
}

// checkMachO accepts a thin or a universal image.
func checkMachO(path string) error {
	thin, err := macho.Open(path)
	if err == nil {
		return thin.Close()
	}
	fat, err := macho.OpenFat(path)
	if err != nil {
		return fmt.Errorf("not a shared library: %w", err)
	}
	return fat.Close()
}
