package wheel

import (
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// platformOf is the platform tag of a program: the oldest system that has what the program needs.
func platformOf(program string) (string, error) {
	tag, err := linuxTag(program)
	if _, other := errors.AsType[*elf.FormatError](err); other || errors.Is(err, io.EOF) {
		if tag, err = macTag(program); err != nil {
			err = fmt.Errorf("it is a program of neither Linux nor macOS: %w", err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("platform of %q: %w", program, err)
	}
	return tag, nil
}

var linuxMachines = map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}

// linuxTag is manylinux_2_MINOR_MACHINE, with the newest version of the C library that a symbol is of. A manylinux system has no
// other libraries than these for a program that loads the rest itself.
func linuxTag(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	machine, known := linuxMachines[f.Machine]
	if !known {
		return "", fmt.Errorf("no wheel is known for %v", f.Machine)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return "", err
	}
	for _, l := range libraries {
		if base, _, _ := strings.Cut(l, ".so"); !slices.Contains([]string{"libc", "libm", "libdl", "libpthread", "librt", "libresolv", "ld-linux-x86-64", "ld-linux-aarch64"}, base) {
			return "", fmt.Errorf("it needs %s, which not every Linux has", l)
		}
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return "", err
	}
	minor := 17 // the oldest that Python knows
	for _, s := range symbols {
		if v, is := strings.CutPrefix(s.Version, "GLIBC_2."); is {
			v, _, _ = strings.Cut(v, ".") // such as 2.2.5
			n, err := strconv.Atoi(v)
			if err != nil {
				return "", fmt.Errorf("symbol %s has the version %q", s.Name, s.Version)
			}
			minor = max(minor, n)
		}
	}
	return fmt.Sprintf("manylinux_2_%d_%s", minor, machine), nil
}

var macMachines = map[macho.Cpu]string{macho.CpuAmd64: "x86_64", macho.CpuArm64: "arm64"}

// buildVersion is the load command of a program that names the oldest macOS it is for, in the four bytes at minimum.
const buildVersion, minimum = 0x32, 12

// macTag is macosx_MAJOR_MINOR_MACHINE.
func macTag(program string) (string, error) {
	f, err := macho.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	machine, known := macMachines[f.Cpu]
	if !known {
		return "", fmt.Errorf("no wheel is known for %v", f.Cpu)
	}
	for _, l := range f.Loads {
		if b := l.Raw(); len(b) >= minimum+4 && f.ByteOrder.Uint32(b) == buildVersion {
			oldest := f.ByteOrder.Uint32(b[minimum:])
			return macVersion(oldest) + machine, nil
		}
	}
	return "", errors.New("it does not say which macOS it is for")
}

// macVersion is the tag of a version as load commands have it. From macOS 11 on, tags know major versions only.
func macVersion(v uint32) string {
	major, minor := v>>16, v>>8&0xff
	if major > 10 {
		minor = 0
	}
	return fmt.Sprintf("macosx_%d_%d_", major, minor)
}
