#!/bin/bash
# Sign the app bundle and have it notarised. Needs a Developer ID certificate in the keychain and a notarytool profile.
#   packaging/macos/sign.sh dist/"Hypatia Companion.app" "Developer ID Application: NAME (TEAM)" PROFILE
set -euo pipefail
if (($# != 3)); then
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
fi
app=$1 identity=$2 profile=$3
[[ -d $app ]] || { echo "There is no app bundle at $app. Build it first: uv run python packaging/build.py" >&2; exit 1; }
security find-identity -v -p codesigning | grep -qF "$identity" || {
  echo "The keychain has no certificate “$identity”. Install it, or name one of: $(security find-identity -v -p codesigning)" >&2
  exit 1
}
# Libraries first, the bundle last: a signature covers what lies inside.
find "$app" -type f \( -name '*.so' -o -name '*.dylib' -o -perm -100 \) -print0 |
  xargs -0 -n 20 codesign --force --timestamp --options runtime --entitlements "$(dirname "$0")/entitlements.plist" --sign "$identity"
codesign --force --timestamp --options runtime --entitlements "$(dirname "$0")/entitlements.plist" --sign "$identity" "$app"
codesign --verify --deep --strict "$app"
archive=${app%.app}.zip
ditto -c -k --keepParent "$app" "$archive"
xcrun notarytool submit "$archive" --keychain-profile "$profile" --wait
xcrun stapler staple "$app"
ditto -c -k --keepParent "$app" "$archive"
echo "Signed, notarised and packed: $archive"
