package world

import (
	"fmt"
	"math"
	"strconv"
)

// system is an operating system with the values that go with it.
type system struct {
	kind     string      // DeviceType
	versions [2]*palette // id_30 by reading
	browsers *palette    // id_31
	screens  *palette    // id_33
	depth    string      // id_32
	info     *palette    // DeviceInfo; nil: a model number
}

var systems = [4]system{
	{
		"desktop",
		[2]*palette{equally("Windows 10", "Windows 8.1"), equally("Windows 7", "Windows XP", "Windows 7")},
		equally("chrome 63.0", "chrome 62.0", "chrome 65.0", "ie 11.0 for desktop", "firefox 57.0", "edge 16.0", "chrome generic"),
		equally("1920x1080", "1366x768", "1600x900", "1280x1024", "1680x1050", "1440x900"), "24.0",
		newPalette(shade{"Windows", 0.72}, shade{"Trident/7.0", 0.14}, shade{"rv:57.0", 0.04}, shade{"rv:11.0", 0.04}, shade{"", 0.06}),
	},
	{
		"mobile",
		[2]*palette{equally("iOS 11.1.2", "iOS 11.3.0", "iOS 10.3.3"), equally("iOS 11.2.1", "iOS 11.2.6", "iOS 9.3.5")},
		equally("mobile safari 11.0", "mobile safari generic", "mobile safari 10.0"), equally("1334x750", "2208x1242", "2048x1536", "1136x640"), "32.0",
		newPalette(shade{"iOS Device", 0.9}, shade{"", 0.1}),
	},
	{
		"desktop",
		[2]*palette{equally("Mac OS X 10_11_6", "Mac OS X 10_10_5"), equally("Mac OS X 10_12_6", "Mac OS X 10_13_2")},
		equally("safari generic", "chrome 63.0", "safari 11.0", "chrome 64.0"), equally("1440x900", "2560x1600", "2880x1800", "1280x800"), "24.0",
		newPalette(shade{"MacOS", 0.93}, shade{"", 0.07}),
	},
	{
		"mobile",
		[2]*palette{equally("Android 7.0", "Android 6.0.1"), equally("Android 5.1.1", "Android 8.0.0")},
		equally("chrome 63.0 for android", "chrome 62.0 for android", "samsung browser 6.2", "chrome 65.0 for android"),
		equally("2220x1080", "1920x1080", "1280x720", "2560x1440"), "32.0", nil,
	},
}

var systemShares = newPalette(shade{"0", 0.45}, shade{"1", 0.25}, shade{"2", 0.14}, shade{"3", 0.16})

// appendIdentity appends the row of train_identity.csv without line end. It has a separate random stream, used after
// the transaction's columns are drawn.
func (r *fraudRow) appendIdentity(b []byte, seed uint64) []byte {
	r.start(seed, uint64(r.n), streamIdentity)
	r.system, _ = strconv.Atoi(systemShares.pick(&r.draws))
	b = strconv.AppendInt(b, fraudFirstID+int64(r.n), 10)
	b = r.appendScores(b)
	b = r.appendAttributes(b)
	b = r.appendProxy(b)
	b = r.appendDevice(b)
	for _, p := range []float64{0.56, 0.05, 0.79, 0.52} { // id_35 to id_38
		b = r.appendFlag(b, r.is(0.979), p)
	}
	s := &systems[r.system]
	b = addText(b, s.kind)
	if s.info == nil {
		return append(b, fmt.Sprintf(",SM-%c%d Build/%s", "GJANE"[r.below(5)], 500+10*r.below(50), androidBuilds.pick(&r.draws))...)
	}
	return addText(b, s.info.pick(&r.draws))
}

var (
	androidBuilds = equally("NRD90M", "MMB29K", "LMY48B", "R16NW")
	id01          = newPalette(
		shade{"-5.0", 0.56}, shade{"0.0", 0.15}, shade{"-10.0", 0.08}, shade{"-20.0", 0.08}, shade{"-15.0", 0.04}, shade{"-25.0", 0.03},
		shade{"-35.0", 0.02}, shade{"-45.0", 0.02}, shade{"-100.0", 0.02})
	id03 = newPalette(shade{"0.0", 0.965}, shade{"1.0", 0.013}, shade{"3.0", 0.01}, shade{"2.0", 0.008}, shade{"-6.0", 0.004})
	id04 = newPalette(shade{"0.0", 0.985}, shade{"-8.0", 0.005}, shade{"-5.0", 0.01})
	id05 = newPalette(shade{"0.0", 0.68}, shade{"1.0", 0.07}, shade{"2.0", 0.05}, shade{"4.0", 0.05}, shade{"6.0", 0.04}, shade{"-5.0", 0.04}, shade{"12.0", 0.07})
	id06 = newPalette(shade{"0.0", 0.68}, shade{"-1.0", 0.05}, shade{"-5.0", 0.07}, shade{"-9.0", 0.08}, shade{"-33.0", 0.08}, shade{"-100.0", 0.04})
)

// appendScores appends id_01 to id_11.
func (r *fraudRow) appendScores(b []byte) []byte {
	b = addText(b, id01.pick(&r.draws))
	b = addWhole(b, 200+int(986_000*math.Pow(r.uniform(), 3)))
	b = r.appendPair(b, r.is(0.456), id03, id04)
	b = r.appendPair(b, r.is(0.947), id05, id06)
	if r.is(0.042) {
		b = addWhole(b, r.below(35))
		b = addWhole(b, -r.below(101))
	} else {
		b = append(b, ",,"...)
	}
	b = r.appendPair(b, r.is(0.521), id03, id04)
	if r.is(0.94) {
		return append(b, ",100.0"...)
	}
	return addSingle(b, 90+float64(r.below(1000))/100)
}

func (r *fraudRow) appendPair(b []byte, there bool, one, two *palette) []byte {
	if !there {
		return append(b, ",,"...)
	}
	b = addText(b, one.pick(&r.draws))
	return addText(b, two.pick(&r.draws))
}

var (
	foundOrNot = newPalette(shade{"NotFound", 0.85}, shade{"Found", 0.15})
	id13       = newPalette(
		shade{"52.0", 0.41}, shade{"49.0", 0.19}, shade{"", 0.13}, shade{"64.0", 0.1}, shade{"33.0", 0.06}, shade{"20.0", 0.03}, shade{"27.0", 0.03}, shade{"14.0", 0.05})
	zones = [2]*palette{ // minutes from Greenwich, by reading
		newPalette(shade{"-300.0", 0.9}, shade{"-240.0", 0.05}, shade{"-180.0", 0.05}),
		newPalette(shade{"-480.0", 0.7}, shade{"-420.0", 0.3}),
	}
	id15 = newPalette(shade{"Found", 0.47}, shade{"New", 0.43}, shade{"Unknown", 0.08}, shade{"", 0.02})
	id16 = newPalette(shade{"Found", 0.46}, shade{"NotFound", 0.44}, shade{"", 0.1})
	id17 = newPalette(shade{"166.0", 0.56}, shade{"225.0", 0.39}, shade{"102.0", 0.01}, shade{"121.0", 0.01}, shade{"", 0.03})
	id18 = newPalette(shade{"", 0.695}, shade{"15.0", 0.17}, shade{"13.0", 0.09}, shade{"12.0", 0.035}, shade{"18.0", 0.01})
)

// appendAttributes appends id_12 to id_20; id_14 is the reading of the cell identity.
func (r *fraudRow) appendAttributes(b []byte) []byte {
	b = addText(b, foundOrNot.pick(&r.draws))
	b = addText(b, id13.pick(&r.draws))
	if r.cell == cellIdentity {
		b = addText(b, zones[r.read(errZone)].pick(&r.draws))
	} else {
		b = append(b, ',')
	}
	for _, p := range []*palette{id15, id16, id17, id18} {
		b = addText(b, p.pick(&r.draws))
	}
	b = addWhole(b, 100+int(570*r.uniform()))
	return addWhole(b, 100+int(557*r.uniform()))
}

var (
	proxies = [2]*palette{equally("IP_PROXY:TRANSPARENT"), newPalette(shade{"IP_PROXY:ANONYMOUS", 0.65}, shade{"IP_PROXY:HIDDEN", 0.35})}
	id22    = newPalette(shade{"14.0", 0.92}, shade{"41.0", 0.08})
	id24    = [2]string{"11.0", "15.0"}
	id28    = newPalette(shade{"Found", 0.53}, shade{"New", 0.45}, shade{"", 0.02})
	id29    = newPalette(shade{"Found", 0.52}, shade{"NotFound", 0.46}, shade{"", 0.02})
)

// appendProxy appends id_21 to id_29; id_23 is the rare reading of the cell hint, id_24 repeats it, and the columns
// around them are present with them.
func (r *fraudRow) appendProxy(b []byte) []byte {
	if r.cell == cellHint && r.is(shareProxy) {
		reading := r.read(errProxy)
		b = addWhole(b, 100+r.below(750))
		b = addText(b, id22.pick(&r.draws))
		b = addText(b, proxies[reading].pick(&r.draws))
		b = addText(b, id24[reading])
		b = addWhole(b, 100+r.below(450))
		b = addWhole(b, 100+r.below(117))
		b = append(b, ",Found"...)
	} else {
		b = append(b, ",,,,,,,"...)
	}
	b = addText(b, id28.pick(&r.draws))
	return addText(b, id29.pick(&r.draws))
}

var id34 = newPalette(shade{"match_status:2", 0.77}, shade{"match_status:1", 0.22}, shade{"match_status:0", 0.01})

// appendDevice appends id_30 to id_34. The system's version is the reading of the cell device; the other cells have
// the browser only.
func (r *fraudRow) appendDevice(b []byte) []byte {
	s := &systems[r.system]
	if r.cell != cellDevice {
		b = append(b, ',')
		b = addText(b, s.browsers.pick(&r.draws))
		return append(b, ",,,"...)
	}
	b = addText(b, s.versions[r.read(errSystem)].pick(&r.draws))
	b = addText(b, s.browsers.pick(&r.draws))
	b = addText(b, s.depth)
	b = addText(b, s.screens.pick(&r.draws))
	return addText(b, id34.pick(&r.draws))
}
