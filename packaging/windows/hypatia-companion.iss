; Installer for one user, without administrator rights (Inno Setup 6). Called by packaging/build.py with /DVersion and /DFolder.
[Setup]
AppId=hypatia-companion
AppName=Hypatia Companion
AppVersion={#Version}
DefaultDirName={localappdata}\Programs\hypatia-companion
PrivilegesRequired=lowest
DisableProgramGroupPage=yes
OutputBaseFilename=hypatia-companion-{#Version}-setup
Compression=lzma2/max
SolidCompression=yes
CloseApplications=yes
UninstallDisplayIcon={app}\hypatia-companion.exe
ChangesEnvironment=no

[Languages]
Name: "en"; MessagesFile: "compiler:Default.isl"

[Files]
Source: "{#Folder}\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion

[Icons]
Name: "{userprograms}\Hypatia Companion"; Filename: "{app}\hypatia-companion.exe"

[Run]
Filename: "{app}\hypatia-companion.exe"; Description: "Start Hypatia Companion"; Flags: nowait postinstall skipifsilent

[UninstallRun]
; Takes back what was written outside the program's own folders; the memory stays.
Filename: "{app}\hypatia-companion-console.exe"; Parameters: "uninstall --keep-memory"; Flags: runhidden; RunOnceId: "TakeBack"
