package pixel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/outside"
)

// pillowSeeds writes small files of every format, also in forms that Pillow only
// reads: BMP by hand, interlaced PNG.
const pillowSeeds = `
import io, random, struct, warnings, zlib
warnings.simplefilter("ignore")
from PIL import Image
random.seed(2)
W, H = 21, 14
rgb = Image.frombytes("RGB", (4, 3), random.randbytes(36)).resize((W, H), Image.BICUBIC)
other = Image.frombytes("RGB", (4, 3), random.randbytes(36)).resize((W, H), Image.BICUBIC)
grey = rgb.convert("L")
alpha = rgb.copy(); alpha.putalpha(Image.frombytes("L", (3, 3), random.randbytes(9)).resize((W, H)))
inks = Image.frombytes("CMYK", (3, 3), random.randbytes(36)).resize((W, H), Image.BICUBIC)
def write(name, b): open(name, "wb").write(b)
def put(name, img, form, **o):
    b = io.BytesIO(); img.save(b, form, **o); write(name, b.getvalue())
put("rgb.png", rgb, "PNG"); put("grey.png", grey, "PNG"); put("alpha.png", alpha, "PNG"); put("la.png", alpha.convert("LA"), "PNG")
for n in (2, 3, 5, 13, 61, 200):
    put(f"palette-{n}.png", rgb.quantize(n), "PNG"); put(f"palette-{n}.gif", rgb.quantize(n), "GIF")
    put(f"palette-{n}-clear.png", rgb.quantize(n), "PNG", transparency=1); put(f"palette-{n}-clear.gif", rgb.quantize(n), "GIF", transparency=1)
put("palette-alpha.png", alpha.quantize(31), "PNG"); put("bits.png", grey.convert("1"), "PNG"); put("clear.png", rgb, "PNG", transparency=rgb.getpixel((3, 3)))
put("animated.png", rgb, "PNG", save_all=True, append_images=[other]); put("default.png", rgb, "PNG", save_all=True, default_image=True, append_images=[other])
put("grey16.png", Image.frombytes("I;16", (W, H), random.randbytes(2 * W * H)), "PNG")
put("interlaced.gif", rgb.quantize(50), "GIF", interlace=1); put("plain.gif", rgb.quantize(50), "GIF", interlace=0)
put("animated.gif", rgb.quantize(50), "GIF", save_all=True, append_images=[other.quantize(40)], comment=b"two frames", loop=0)
def chunk(kind, b): return struct.pack(">I", len(b)) + kind + b + struct.pack(">I", zlib.crc32(kind + b))
def png(depth, colour, channels, interlaced, extra=b""):
    rows = bytearray()
    for x0, y0, dx, dy in ([(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)] if interlaced else [(0, 0, 1, 1)]):
        w, h = (W - x0 + dx - 1) // dx, (H - y0 + dy - 1) // dy
        if w and h:
            for _ in range(h): rows += bytes([random.randrange(5)]) + random.randbytes((w * channels * depth + 7) // 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, depth, colour, 0, 0, interlaced)) + extra + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b"")
for interlaced in (0, 1):
    for colour, channels, depths in ((0, 1, (1, 2, 4, 8, 16)), (2, 3, (8, 16)), (4, 2, (8, 16)), (6, 4, (8, 16))):
        for depth in depths: write(f"hand-{colour}-{depth}-{interlaced}.png", png(depth, colour, channels, interlaced))
    for depth in (1, 2, 4, 8):
        full = 1 << depth
        for entries in {full, max(1, full - 1), max(1, full // 2)}:
            write(f"hand-3-{depth}-{entries}-{interlaced}.png", png(depth, 3, 1, interlaced, chunk(b"PLTE", random.randbytes(3 * entries))))
            write(f"hand-3-{depth}-{entries}-{interlaced}-clear.png", png(depth, 3, 1, interlaced, chunk(b"PLTE", random.randbytes(3 * entries)) + chunk(b"tRNS", random.randbytes(entries))))
def bmp(bits, entries=0, head=40, down=False, compression=0, body=None, masks=b""):
    stride = (W * bits + 31) // 32 * 4
    if body is None: body = random.randbytes(stride * H)
    if head == 12: info = struct.pack("<IHHHH", 12, W, H, 1, bits); table = random.randbytes(3 * entries)
    else:
        info = struct.pack("<IiiHHIIiiII", head, W, -H if down else H, 1, bits, compression, len(body), 2835, 2835, entries, 0)
        info += (masks + bytes(head))[:head - 40]
        table = random.randbytes(4 * entries)
        if head == 40: table = masks + table
    off = 14 + len(info) + len(table)
    return b"BM" + struct.pack("<IHHI", off + len(body), 0, 0, off) + info + table + body
for head in (12, 40, 64, 108, 124):
    for down in (False, True):
        for bits in (1, 4, 8, 16, 24, 32):
            for entries in ((1 << bits, max(1, (1 << bits) * 3 // 4)) if bits < 16 else (0,)):
                write(f"hand-{head}-{down}-{bits}-{entries}.bmp", bmp(bits, entries, head, down))
masks = struct.pack("<IIII", 0xff0000, 0xff00, 0xff, 0xff000000)
for bits in (16, 24, 32):
    write(f"masks-{bits}.bmp", bmp(bits, 0, 124, compression=3, masks=masks)); write(f"masks40-{bits}.bmp", bmp(bits, 0, 40, compression=3, masks=masks[:12]))
write("rle8.bmp", bmp(8, 256, compression=1, body=b"".join(bytes([W, y]) + b"\0\0" for y in range(H)) + b"\0\1"))
write("rle4.bmp", bmp(4, 16, compression=2, body=b"".join(bytes([W, 0x12]) + b"\0\0" for y in range(H)) + b"\0\1"))
put("rgb.bmp", rgb, "BMP"); put("palette.bmp", rgb.quantize(100), "BMP")
rgb = Image.merge("RGB", [grey.point(lambda v, c=c: v * (10 - c) // 10) for c in (0, 1, 2)])
for q in (30, 90):
    for s in (0, 1, 2): put(f"baseline-{q}-{s}.jpg", rgb, "JPEG", quality=q, subsampling=s); put(f"progressive-{q}-{s}.jpg", rgb, "JPEG", quality=q, subsampling=s, progressive=True)
put("grey.jpg", grey, "JPEG"); put("restart.jpg", rgb, "JPEG", restart_marker_blocks=1); put("cmyk.jpg", inks, "JPEG"); put("cmyk-progressive.jpg", inks, "JPEG", progressive=True)
put("lossless.webp", rgb, "WEBP", lossless=True); put("lossless-alpha.webp", alpha, "WEBP", lossless=True, exact=True)
put("lossy.webp", rgb, "WEBP", quality=50); put("lossy-alpha.webp", alpha, "WEBP", quality=80, exact=True); put("palette.webp", rgb.quantize(7).convert("RGB"), "WEBP", lossless=True)
put("animated.webp", rgb, "WEBP", save_all=True, append_images=[other])
`

// pillowReads decodes the files of a folder and prints pixels or errors. What Pillow clips, 16-bit grey, becomes its high byte.
const pillowReads = `
import base64, glob, json, sys, warnings
warnings.simplefilter("ignore")
from PIL import Image
Image.MAX_IMAGE_PIXELS = None
found = {}
for name in sorted(glob.glob("*.mutant")):
    try:
        img = Image.open(name)
        if img.width * img.height > 1 << 20: raise ValueError("large")
        img.load()
        mode, form = img.mode, img.format
        if mode.startswith("I;16"): img = Image.frombytes("L", img.size, img.tobytes()[0 if mode.endswith("B") else 1::2])
        found[name] = {"Format": form, "Pixels": base64.b64encode(img.convert("RGB").tobytes()).decode()}
    except Exception as e:
        found[name] = {"Error": repr(e)}
json.dump(found, sys.stdout)
`

// mutants is how many damaged files the comparison with Pillow makes.
func mutants(t *testing.T) int {
	n := 600
	if v := os.Getenv("PIPE_IMAGE_MUTANTS"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestMutantsBesidePillow damages files of every format. Each is an error or has
// Pillow's pixels, by both decoders; none is a panic, and none takes much memory.
func TestMutantsBesidePillow(t *testing.T) {
	python := judge.Python(t, "PIL")
	dir := t.TempDir()
	judge.Run(t, python, dir, pillowSeeds)
	seeds, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(seeds) < 100 {
		t.Fatalf("%d files, %v", len(seeds), err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var names []string
	for i := range mutants(t) {
		seed := seeds[i%len(seeds)]
		b := readFile(t, seed)
		if i >= len(seeds) {
			b = damaged(rng, b)
		}
		names = append(names, fmt.Sprintf("%06d-%s.mutant", i, filepath.Base(seed)))
		writeFile(t, filepath.Join(dir, names[i]), b)
	}
	pillow := map[string]pillowFound{}
	if err := json.Unmarshal([]byte(judge.Run(t, python, dir, pillowReads)), &pillow); err != nil {
		t.Fatal(err)
	}
	for _, d := range bothDecoders() {
		fares := map[string]int{}
		for _, name := range names {
			fares[besidePillow(t, d, filepath.Join(dir, name), pillow[name])]++
		}
		t.Logf("%s: %d files: %v", d.Name(), len(names), fares)
		// What damage does to JPEG's numbers, decoders round and clip in their ways.
		if fares["same"] < len(names)/10 || fares["refused"] == 0 || fares["differs"]+fares["alone"] > len(names)/100 {
			t.Errorf("%s: %d files: %v", d.Name(), len(names), fares)
		}
	}
}

// pillowFound is what Pillow makes of a file.
type pillowFound struct {
	Format string
	Pixels []byte // nil: an error
	Error  string
}

// besidePillow decodes a file and says how it fares beside Pillow's pixels.
func besidePillow(t *testing.T, d Decoder, name string, pillow pillowFound) string {
	b := readFile(t, name)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	width, height, err := Size(b)
	if err == nil && width > 1<<20/height {
		return "large"
	}
	m, err := d.Decode(b)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%s: %d bytes allocated for %d x %d pixels", name, took, width, height)
	}
	var caught *outside.PanicError
	switch {
	case errors.As(err, &caught):
		t.Errorf("%s: %v\n%s", name, err, caught.Stack) // caught, and yet a case to look at
		return "panic"
	case err != nil && pillow.Pixels == nil:
		return "refused by both"
	case err != nil:
		return "refused"
	case pillow.Pixels == nil:
		return alone(t, name, m, pillow)
	case bytes.Equal(m.Pix, pillow.Pixels):
		return "same"
	}
	mean, _, _ := apartBy(m.Pix, pillow.Pixels)
	if pillow.Format != "JPEG" || len(m.Pix) != len(pillow.Pixels) {
		t.Errorf("%s, %s: %s", d.Name(), name, differences(m.Pix, pillow.Pixels))
	} else if mean < 4 {
		return "same"
	}
	t.Logf("%s, %s: %s", d.Name(), name, differences(m.Pix, pillow.Pixels))
	return "differs"
}

// alone is a file that Pillow refuses for what does not matter to its pixels: it
// looks at chunks of PNG that we ignore, and at JPEG's segments before decoding.
func alone(t *testing.T, name string, m *Image, pillow pillowFound) string {
	file := readFile(t, name)
	if !bytes.HasPrefix(file, []byte("\x89PNG")) && !bytes.HasPrefix(file, []byte("\xff\xd8")) {
		t.Errorf("%s: %d x %d pixels, Pillow: %s", name, m.Width, m.Height, pillow.Error)
	}
	return "alone"
}

// damaged is a file that something happened to, mostly to its first bytes. The
// checksums of PNG are mended, so that what they protect is looked at.
func damaged(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(b))
		if rng.IntN(3) > 0 {
			at = rng.IntN(min(len(b), 120))
		}
		switch rng.IntN(12) {
		case 0:
			b = b[:max(at, 1)]
		case 1:
			b = append(b[:at:at], b[rng.IntN(at+1):]...)
		case 2:
			b[at] = 0
		case 3:
			b[at] = 0xff
		case 4, 5, 6:
			b[at] ^= 1 << rng.IntN(8)
		case 7:
			b[at] += byte(1 + rng.IntN(3))
		default:
			b[at] = byte(rng.Uint32())
		}
	}
	mendPNG(b)
	return b
}

// mendPNG writes the checksums of chunks anew.
func mendPNG(b []byte) {
	if !bytes.HasPrefix(b, []byte("\x89PNG")) {
		return
	}
	for at := 8; at+12 <= len(b); {
		size := int(binary.BigEndian.Uint32(b[at:]))
		if size > len(b)-at-12 {
			return
		}
		binary.BigEndian.PutUint32(b[at+8+size:], crc32.ChecksumIEEE(b[at+4:at+8+size]))
		at += 12 + size
	}
}
