// Package figure draws figures as SVG: curves with intervals, stacked bars, flows, rows of intervals and maps of tiles. It is the
// one home of their axes, legends, colours and labels.
//
// Every figure obeys the same laws, which tests check on drawn inputs. No two labels overlap, and none leaves the picture. Every
// interval ends inside of the frame. There are at most Most series. Series differ in brightness and in dashes or markers too, so a
// grey print can be read.
package figure
